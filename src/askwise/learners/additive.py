"""The engine for many observations: draw a world, plan for its shortlist, run a round.

The price of trying. Random looks are paid from an allowance of `ALLOWANCE · β · t^(2/3)` up to case
t, cut off at `explore_budget` if that is given; their share of the cases follows from it. Once a
budget is used up, plans are made from the mean of what is believed instead of from draws.
"""

from __future__ import annotations

import numpy as np

from askwise._kernels.additive_cases import Tree, run_tree
from askwise._typing import Choices, Floats, Integers
from askwise.estimation.additive import AdditiveModel
from askwise.lattice import Lattice
from askwise.planning import plan_sequential, plan_simultaneous
from askwise.planning.compact import compact_tree, follow_set
from askwise.statistics import UNIT

ALLOWANCE = 0.25
MOST_TRYING = 0.5
"""The largest share of the cases that try something."""

ACTING_ROUGHLY = 0.03
"""What acting in a random case is reckoned to lose, in units of reward."""

SPREAD = 0.4
ROUNDS = 50
"""A round lasts t / ROUNDS cases, and at least SHORTEST."""

SHORTEST = 10


class AdditiveEngine:
    """Decides and counts cases in batches."""

    def __init__(
        self,
        lattice: Lattice,
        *,
        sequential: bool,
        rng: np.random.Generator,
        explore_budget: float | None = None,
    ) -> None:
        self.model = AdditiveModel(lattice)
        self.sequential = sequential
        self.rng = rng
        self.explore_budget = explore_budget
        self.cases = 0

    @property
    def round_length(self) -> int:
        """How many cases the next round lasts."""
        return max(SHORTEST, self.cases // ROUNDS)

    def plan(self) -> Tree:
        """The policy of the next round."""
        explore, spent_up = self.trying()
        model = self.model
        lattice = model.lattice
        world = model.draw(self.rng, spread=0.0 if spent_up else SPREAD)
        small, estimates = world.few.lattice, world.estimates
        if self.sequential:
            every_slot: Floats = np.repeat(estimates.weight[:, None], small.m, axis=1)
            following = plan_sequential(small, estimates._replace(weight=every_slot)).next
        else:
            following = follow_set(small, plan_simultaneous(small, estimates).subset)
        tree = compact_tree(
            small, world.few.observations, following, estimates.action, lattice.most_outcomes
        )
        return Tree(*tree, world.pairs, explore, not self.sequential)

    def trying(self) -> tuple[float, bool]:
        """The share of the next round's cases that try something, and whether the budget is up."""
        problem = self.model.lattice.problem
        beta, end = problem.reward_value, self.cases + self.round_length
        allowed = ALLOWANCE * beta * end ** (2 / 3)
        roughly = ACTING_ROUGHLY * beta
        tried = int(self.model.tallies.tried[-1])
        spent = self.model.spent + roughly * tried
        if self.explore_budget is not None:
            allowed = min(allowed, self.explore_budget)
        a_case = problem.m * float(self.model.lattice.costs.mean()) + roughly
        share = (allowed - spent) / (a_case * self.round_length)
        spent_up = self.explore_budget is not None and spent >= self.explore_budget
        return float(np.clip(share, 0.0, MOST_TRYING)), spent_up

    def run(
        self, values: Choices, rewards: Floats, out_state: Integers, out_action: Choices
    ) -> None:
        """Decide and count every case, each rewarded at once, replanning at each round."""
        model = self.model
        done = 0
        while done < len(values):
            tree = self.plan()
            end = min(len(values), done + self.round_length)
            model.reserve(end - done)
            tags = self.rng.integers(0, 2**64, end - done, np.uint64)
            model.used = run_tree(
                model.lattice.layout,
                tree,
                tags,
                values[done:end],
                rewards[done:end],
                1 / UNIT,
                model.rows,
                model.used,
                model.tallies,
                out_state[done:end],
                out_action[done:end],
            )
            self.cases += end - done
            done = end
