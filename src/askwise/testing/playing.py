"""Playing cases one by one, and what the checks share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from askwise._support.typing import RandomSource
from askwise.errors import AskwiseError, CaseError, OptionError, TooLargeError
from askwise.estimation.models import Model
from askwise.learners import BaseLearner
from askwise.learners.cases import Case
from askwise.learners.learner import rounds_of
from askwise.learners.saving import read
from askwise.problem import Action, Observation, Panel, Problem, Value
from askwise.simulation.environments import random_model

Cases = TypeVar("Cases")
"""How many cases a run has, or several runs."""


class MakesLearner(Protocol):
    """A learner's class, or anything called like one."""

    def __call__(self, problem: Problem, *, rng: RandomSource) -> BaseLearner:
        """A new learner for the problem."""


def play(learner: BaseLearner, model: Model, cases: int, rng: np.random.Generator) -> list[Case]:
    """Run cases drawn from the model one by one, with 0/1 rewards at once; returns them."""
    played = []
    for full in model.sample(rng, cases):
        case = see(begin(learner, full.tolist()), learner.problem, full.tolist())
        mean = model.reward[tuple(full)][case.action_index]
        case.reward(model.problem.as_money(float(rng.random() < mean)))
        played.append(case)
    return played


def begin(learner: BaseLearner, full: list[int]) -> Case:
    """Open a case of a full state, with what is given there."""
    observations = learner.problem.observations
    pairs = zip(observations, full, strict=True)
    return learner.open({o.name: o.outcomes[x] for o, x in pairs if o.given})


def see(case: Case, problem: Problem, full: list[int]) -> Case:
    """Show the case what it wants of a full state until it acts."""
    values: dict[str, Value | None] = {
        o.name: o.outcomes[x] for o, x in zip(problem.observations, full, strict=True)
    }
    while case.wanted:
        case.observe({name: values[name] for name in case.wanted})
    return case


def assert_same_future(one: BaseLearner, other: BaseLearner, model: Model) -> None:
    """Two learners decide, count and draw alike from now on."""
    futures = [decisions(play(x, model, 20, np.random.default_rng(3))) for x in (one, other)]
    assert futures[0] == futures[1]
    assert one.statistics == other.statistics
    assert rounds_of(one).now.rng.random() == rounds_of(other).now.rng.random()


def load_like(path: Path, like: BaseLearner) -> BaseLearner:
    """Loads a learner whether or not it is in the registry."""
    return read(path, {like.name: type(like)})


def models(make: MakesLearner | None = None) -> Iterator[Model]:
    """Small populations of different kinds; one with rules for learners that do not refuse it."""
    rng = np.random.default_rng(0)
    yield random_model(rng, [2, 3, 2], max_observations=2)
    yield random_model(rng, [3], actions=2, reward_value=100.0, highest_cost=10.0)
    yield random_model(rng, [2, 2, 2], max_observations=0)
    yield _from_real_life(rng)
    ruled = with_rules(rng)
    if make is not None and takes_rules(make, ruled.problem):
        yield ruled


def long_then_short(
    populations: Iterator[Model], long: Cases, short: Cases
) -> Iterator[tuple[Model, Cases]]:
    """The populations, with a long run in the first: some rounds last long only after 200 cases."""
    return zip(populations, chain((long,), repeat(short)), strict=False)


def takes_rules(make: MakesLearner, problem: Problem) -> bool:
    """Whether such learners support costs and requirements of actions; else they raise an error."""
    try:
        make(problem, rng=0)
    except TooLargeError:
        return False
    except OptionError as error:
        assert "cannot reckon with what actions" in str(error), str(error)
        return False
    return True


def with_rules(rng: np.random.Generator) -> Model:
    """Actions have costs and requirements, and an observation has a requirement."""
    problem = Problem(
        observations=[
            Observation("scan", values=[0, 1], cost=0.02, requires=["visit"]),
            Observation("visit", values=[0, 1], cost=0.01, fails="charged"),
            Observation("age", values=["young", "old"], given=True),
            Observation("lab", values=[0, 1], cost=0.02),
        ],
        actions=[
            Action("treat", requires=["visit", "age"]),
            Action("wait", cost=0.05),
            Action("operate", cost=0.1, requires=["scan"]),
        ],
        max_observations=2,
    )
    shape = tuple(len(o.outcomes) for o in problem.observations)
    probability = rng.dirichlet(np.ones(int(np.prod(shape))))
    return Model(problem, probability, rng.random((*shape, 3)).reshape(-1, 3))


def _from_real_life(rng: np.random.Generator) -> Model:
    """Something is given, two share a panel, one of them may fail, another is refunded then."""
    problem = Problem(
        observations=[
            Observation("lab", values=["clear"], cost=0.02, fails="charged"),
            Observation("age", values=["young", "old"], given=True),
            Observation("scan", values=["clear"], cost=0.03, fails="refunded"),
            Observation("visit", values=[0, 1], cost=0.0),
        ],
        actions=["wait", "treat"],
        max_observations=2,
        panels=[Panel(observations=["lab", "scan"], fee=0.05)],
    )
    shape = tuple(len(o.outcomes) for o in problem.observations)
    probability = rng.dirichlet(np.ones(int(np.prod(shape))))
    return Model(problem, probability, rng.random((*shape, 2)).reshape(-1, 2))


def decisions(cases: list[Case]) -> list[tuple[tuple[tuple[int, int], ...], int]]:
    """The purchases and the action of each case."""
    return [(tuple(case.path), case.action_index) for case in cases]


def refuses_to_open(learner: BaseLearner, known: dict[str, Value | None], offender: str) -> None:
    """A case with this known is refused by an error that names the offender; nothing changes."""
    before = (learner.statistics.copy(), set(learner.cases))
    try:
        learner.open(known)
    except CaseError as error:
        assert offender in str(error), f"{str(error)!r} does not name {offender}"
    else:
        raise AssertionError(f"a case with {known} was opened")
    assert (learner.statistics, set(learner.cases)) == before


def refuses(case: Case, offender: str, attempt: Callable[[Any], None], given: object) -> None:
    """The attempt is refused by an error that names the offender; nothing changes."""
    before = (case.state, case.wanted, case.action, case.cost, case.is_rewarded)
    try:
        attempt(given)
    except CaseError as error:
        assert offender in str(error), f"{str(error)!r} does not name {offender}"
    except AskwiseError as error:
        raise AssertionError(f"expected a CaseError, got {error!r}") from error
    else:
        raise AssertionError(f"{offender} was accepted")
    assert (case.state, case.wanted, case.action, case.cost, case.is_rewarded) == before
