"""Budgeted linear regression: trained on few attributes a case, then used as it is."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from askwise._support.typing import Floats, Integers, RandomSource
from askwise.counting import UNIT
from askwise.errors import OptionError
from askwise.learners.cases import Case
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.rounds import Rounds
from askwise.learners.strategy import Cases, Progress, Strategy
from askwise.policy import Policy, SetTable
from askwise.policy.acquisition import Simultaneous
from askwise.problem import Problem
from askwise.states import Lattice

UNIFORM, WEIGHTED, ACTION, STATE, UNITS = range(5)
"""Columns of an example: the uniform set, the attribute drawn by weights, the action, the state and
the reward. The last two are −1 until they are known.
"""


class AttributeEfficient(Strategy):
    """The first rounds have one example each. Then one round uses the trained weights."""

    acquisition = Simultaneous()
    honours_rules = True
    why_no_requirements = (
        "it estimates gradients from attributes that are drawn uniformly, and from any action, "
        "which a requirement does not allow"
    )
    doubles = False

    def __init__(self, lattice: Lattice, examples: int) -> None:
        self.lattice = lattice
        self.examples: Integers = np.full((examples, 5), -1)
        self.likely: Floats = np.ones(examples)
        """The probability of the weighted attribute of each example."""
        outcomes = [len(o.outcomes) for o in lattice.observations]
        starts = np.cumsum([1, *outcomes])
        blocks = [slice(a, b) for a, b in pairwise(starts.tolist())]
        self.blocks = blocks[: lattice.buyable]
        """The position of each attribute's values in x. The constant and given values are free."""
        self.is_free = np.ones(starts[-1], bool)
        for block in self.blocks:
            self.is_free[block] = False
        self.norm = math.sqrt(1 + len(outcomes))
        """The norm of x before it is scaled to 1, and the largest norm of w."""
        self.uniform = max(1, lattice.m - 1)
        self._forget_weights()

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The examples. The weights follow from them."""
        return {"examples": self.examples, "likely": self.likely}

    def restored(self) -> None:
        """The weights follow from the examples."""
        super().restored()
        self._forget_weights()

    def use(self, lattice: Lattice) -> None:
        """Have the same states at other prices."""
        self.lattice = lattice

    def round_length(self, now: Progress) -> int | None:
        """An example is a round."""
        return 1 if self.tag(now) else None

    def tag(self, now: Progress) -> int:
        """The number of the case's example, from 1; 0 if it is no example."""
        return now.round if now.round <= len(self.examples) else 0

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """A few attributes and any action, or the attributes and actions of the trained weights."""
        actions = np.zeros(lattice.size, np.int16)
        unknown = np.full(lattice.context_subsets, math.nan)
        number = self.tag(now)
        if number:
            if lattice is now.lattice:
                self._draw_example(number - 1, now.rng)
            uniform, weighted, actions[:] = self.examples[number - 1, :STATE]
            bought = {*lattice.members(int(uniform)), *([weighted] if weighted >= 0 else [])}
        else:
            self.train()
            bought, beta = set(self.attributes()), lattice.problem.reward_value
            for state in lattice.states(lattice.subset(tuple(sorted(bought)))):
                actions[state] = (self.predicted(state) - lattice.action_costs / beta).argmax()
        subset = lattice.subset(tuple(sorted(map(int, bought))))
        return Policy(SetTable(lattice, subset, actions, unknown))

    def count_reward(self, case: Case, reward: float, before: float | None) -> None:
        """Notes the reward of an example. A case with values on file is none, because others chose
        them.
        """
        if case.tag and case.start < case.lattice.contexts:
            self._count(case.tag, case.state_index, case.action_index, reward)

    def run(self, rounds: Rounds, cases: Cases) -> None:
        """Runs one example at a time, and the rest at once."""
        start = 0
        while start < len(cases):
            rounds.policy_of_the_round()
            number = self.tag(rounds.now)
            part = cases.part(start, start + 1 if number else len(cases))
            rounds.run_round_by_round(part)
            if number:
                action = int(part.action[0])
                self._count(number, int(part.state[0]), action, float(part.rewards[0, action]))
            start += len(part)

    # --- training --------------------------------------------------------------------------------

    def train(self) -> None:
        """Trains on the examples that have their reward, in order."""
        examples = len(self.examples)
        while self._taken < examples and self.examples[self._taken, UNIFORM] >= 0:
            if self.examples[self._taken, UNITS] >= 0:
                self._step(self._taken)
            self._taken += 1

    def _step(self, number: int) -> None:
        """Steps w ← w − η g, within the ball. g is an unbiased gradient of the squared loss."""
        uniform, weighted, action, state, units = self.examples[number].tolist()
        x = self.features(state)
        seen = self.lattice.members(uniform)
        estimate = np.where(self.is_free, x, 0.0)
        for i in seen:
            estimate[self.blocks[i]] = x[self.blocks[i]] * len(self.blocks) / len(seen)
            self.frequency[self.blocks[i]] += x[self.blocks[i]] * self.norm
        w = self.weights[action]
        prediction = float(w[self.is_free] @ x[self.is_free])
        for i in [weighted] if weighted >= 0 else seen:
            prediction += float(w[self.blocks[i]] @ x[self.blocks[i]]) / self.likely[number]
        attributes = max(1, len(self.blocks))
        each = len(self.examples) / len(self.weights)
        rate = math.sqrt(max(1, len(seen)) / (2 * attributes * each))
        w -= rate * (prediction - units * UNIT) * estimate
        w *= min(1.0, self.norm / max(1e-12, float(np.linalg.norm(w))))
        self.totals[action] += w
        self.steps[action] += 1

    def features(self, state: int) -> Floats:
        """x: a constant and the known values, one-hot. Its length is 1 if all are known."""
        x = np.zeros(len(self.is_free))
        x[0] = 1.0
        offset = np.cumsum([1, *(len(o.outcomes) for o in self.lattice.observations)])
        for i, value in self.lattice.digits(state):
            x[offset[i] + value] = 1.0
        return x / self.norm

    def _draw_example(self, number: int, rng: np.random.Generator) -> None:
        self.train()
        lattice, attributes = self.lattice, len(self.blocks)
        action = int(rng.integers(len(self.weights)))
        known = min(self.uniform, lattice.m)
        drawn = rng.choice(attributes, size=known, replace=False).tolist() if known else []
        weighted = -1
        if lattice.m > 1:
            squares = np.array([np.sum(self.weights[action][b] ** 2) for b in self.blocks])
            all_zero = squares.sum() == 0
            chance = np.full(attributes, 1 / attributes) if all_zero else squares / squares.sum()
            weighted = int(rng.choice(attributes, p=chance))
            self.likely[number] = chance[weighted]
        chosen = lattice.subset(tuple(sorted(drawn)))
        self.examples[number] = chosen, weighted, action, -1, -1

    def _count(self, number: int, state: int, action: int, reward: float) -> None:
        self.examples[number - 1, ACTION:] = action, state, round(reward / UNIT)
        if number <= self._taken:  # it comes late, or it was corrected: all later steps change
            self._forget_weights()

    def _forget_weights(self) -> None:
        shape = len(self.lattice.problem.actions), len(self.is_free)
        self._taken = 0
        self.weights, self.totals = np.zeros(shape), np.zeros(shape)
        self.steps: Integers = np.zeros(shape[0], np.int64)
        self.frequency: Floats = np.zeros(shape[1])

    # --- what was learned ------------------------------------------------------------------------

    @property
    def average(self) -> Floats:
        """w̄ of each action, the mean of all steps."""
        means: Floats = self.totals / np.maximum(1, self.steps)[:, None]
        return means

    def attributes(self) -> list[int]:
        """The m attributes with the largest effect on predictions."""
        average = self.average
        centred = [average[:, b] - average[:, b].mean(axis=1, keepdims=True) for b in self.blocks]
        sizes = [float((part**2).sum()) for part in centred]
        return sorted(range(len(sizes)), key=lambda i: (-sizes[i], i))[: self.lattice.m]

    def predicted(self, state: int) -> Floats:
        """w̄_aᵀ x of each action. An unknown value has its mean."""
        x = self.features(state)
        known = self.lattice.domain(state)
        for i, block in enumerate(self.blocks):
            if i not in known:
                seen = self.frequency[block]
                x[block] = (seen + 1) / (seen + 1).sum() / self.norm
        predictions: Floats = self.average @ x
        return predictions


class BudgetedRegression(BaseLearner):
    """Trains a linear regression for each action on few attributes a case, then uses it.

    E. Hazan, T. Koren: Linear regression with limited observation (2012), algorithm AERR, after N.
    Cesa-Bianchi, S. Shalev-Shwartz, O. Shamir: Efficient learning with partially observed
    attributes (2011). Of each example k = m − 1 attributes are drawn uniformly, which scaled by D/k
    estimate x. One more attribute j is drawn with probability q_j = ‖w_j‖² / Σ‖w_i‖², which
    estimates the prediction. Then

        x̂ = x_free + (D/k) Σ_i x_i,    ŷ = wᵀx_free + w_jᵀx_j / q_j,    w ← Π( w − η (ŷ − r) x̂ )

    with η = √(k / (2 D n)), Π onto ‖w‖ ≤ B, and the mean of all w is what was learned.

    They are batch methods for regression with all labels. Here an example is a case with a random
    action, whose reward is the label of that action's own regression. After `examples` cases the m
    attributes with the largest effect on predictions are always bought, and the best prediction
    acts. An attribute is an observation, its values one-hot. The constant and given values are
    free. With m = 1 every attribute is regressed separately.

    examples: how many cases it trains on.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = BudgetedRegression(patients.problem, rng=0)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    63.1
    """

    name = "budgeted-regression"
    _why_not_served = "it learns from more than counters hold"

    def __init__(
        self, problem: Problem, *, examples: int = 2_000, rng: RandomSource = None
    ) -> None:
        is_whole = isinstance(examples, int) and not isinstance(examples, bool)
        if not is_whole or not 1 <= examples <= 1_000_000:
            raise OptionError(
                f"examples must be a whole number from 1 to 1,000,000, got {examples!r}"
            )
        lattice = lattice_of(problem)
        strategy = AttributeEfficient(lattice, examples)
        super().__init__(lattice, strategy, {"examples": examples}, rng=rng)
