"""Many cases fast: the same decisions as the case-by-case face, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askwise._progress import Progress
from askwise._random import as_generator
from askwise._typing import Choices, Floats, Integers, RandomSource
from askwise.environments.base import Environment, stream
from askwise.errors import OptionError
from askwise.lattice import Lattice
from askwise.learners import BaseLearner


@dataclass(frozen=True)
class Run:
    """What happened, a row a case."""

    lattice: Lattice
    state: Integers
    """What was known when acting, as integers of the lattice."""
    action: Choices
    """What was done, as places among the actions."""
    reward: Floats
    round: Integers
    """The number of the round each case belonged to."""

    @cached_property
    def observed(self) -> Integers:
        """What was bought, as subsets of the lattice."""
        return np.searchsorted(self.lattice.layout.offsets, self.state, side="right") - 1

    @cached_property
    def cost(self) -> Floats:
        """What was spent."""
        return self.lattice.costs_of(self.state)

    @cached_property
    def gain(self) -> Floats:
        """β r − Σ c."""
        return self.lattice.problem.reward_value * self.reward - self.cost

    def bought(self, part: slice = slice(None)) -> dict[str, float]:
        """For each observation the share of the cases, or of a part of them, that bought it."""
        cases = np.bincount(self.observed[part], minlength=self.lattice.subsets)
        bought = np.zeros(self.lattice.buyable + 1)  # the last is for the −1
        for members in self.lattice.layout.members.T:
            np.add.at(bought, members, cases)
        names = self.lattice.names_of(tuple(range(self.lattice.buyable)))
        return dict(zip(names, (bought[:-1] / max(1, cases.sum())).tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.state)

    def __repr__(self) -> str:
        mean = f" with mean gain {self.gain.mean():g}" if len(self) else ""
        return f"<Run of {len(self):,} cases{mean}>"


def simulate(
    learner: BaseLearner, environment: Environment, *, steps: int, rng: RandomSource = None
) -> Run:
    """Let the learner decide `steps` cases drawn from the environment, each rewarded at once."""
    if not isinstance(learner, BaseLearner):
        raise OptionError(f"expected a learner, such as SeqOOS(problem), got {learner!r}")
    if not hasattr(environment, "draw"):
        kind = type(environment).__name__
        raise OptionError(
            f"expected an environment, such as Population(model) or a Table, got a {kind}"
        )
    if learner.problem != environment.problem:
        raise OptionError("the learner and the environment are of two different problems")
    if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 0:
        raise OptionError(f"steps must be a whole number of at least 0, got {steps!r}")
    run = Run(
        lattice=learner.lattice,
        state=np.empty(steps, np.int64),
        action=np.empty(steps, np.int16),
        reward=np.empty(steps),
        round=np.empty(steps, np.int64),
    )
    done = 0
    with learner.lock, Progress("cases", steps) as progress:
        for draws in stream(environment, as_generator(rng), steps):
            end = done + len(draws.values)
            values = draws.values
            if learner.lattice.has_given:  # what is given goes last
                values = np.ascontiguousarray(values[:, learner.lattice.order])
            learner.run(
                values,
                draws.rewards,
                run.state[done:end],
                run.action[done:end],
                run.round[done:end],
            )
            actions = run.action[done:end]
            run.reward[done:end] = draws.rewards[np.arange(len(actions)), actions]
            progress.advance(end - done)
            done = end
    return run
