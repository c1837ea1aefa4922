"""Every environment of the package passes its suite; broken ones do not."""

import inspect
import time

import numpy as np
import pytest

import askwise as aw
from askwise.simulation import environments
from askwise.simulation.environments import (
    Draws,
    Population,
    Staked,
    Table,
    breast_cancer,
    random_model,
    wisconsin,
)
from askwise.testing import ENVIRONMENT_CHECKS, check_environment
from askwise.testing import environments as suite
from askwise.testing.playing import models

BINS = aw.Problem(
    observations=[
        aw.Observation("age", edges=[40, 60], given=True),
        aw.Observation("mri", values=["neg", "pos"], cost=9.0, fails="refunded"),
    ],
    actions=["wait", "treat"],
)
ROWS = {
    "age": [31, 40, 65, 59, 80],
    "mri": ["neg", None, "pos", "neg", "pos"],
    "wait": [1.0, 0.5, 0.0, 0.0, 0.25],
    "treat": [0.0, 0.5, 1.0, 1.0, 0.75],
}
BUILT_IN = {
    "patients": lambda: Population(breast_cancer()),
    "random": lambda: Population(random_model(np.random.default_rng(5), [3, 2, 4], actions=2)),
    "with stakes": lambda: Staked(
        Population(breast_cancer()), lambda rng, cases: rng.uniform(0.5, 2.0, cases)
    ),
    "one action": lambda: Population(random_model(np.random.default_rng(6), [2], actions=1)),
    "given, failing, a panel": lambda: Population(list(models())[-1]),
    "table": lambda: Table(BINS, ROWS),
    "one row": lambda: Table(BINS, {name: column[:1] for name, column in ROWS.items()}),
    "wisconsin": wisconsin,
}


@pytest.mark.parametrize("check", ENVIRONMENT_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", BUILT_IN)
def test_conformance(name, check):
    check(BUILT_IN[name])


def test_no_environment_is_left_out():
    exported = (getattr(environments, name) for name in environments.__all__)
    classes = {x for x in exported if inspect.isclass(x) and hasattr(x, "draw")}
    assert classes - {environments.Environment} == {type(make()) for make in BUILT_IN.values()}


def test_no_check_is_left_out():
    found = inspect.getmembers(suite, inspect.isfunction)
    checks = {f for name, f in found if name.startswith("check_") and f is not check_environment}
    assert checks == set(ENVIRONMENT_CHECKS)


# --- doubles that are broken, each in one way ----------------------------------------------------

MODEL = random_model(np.random.default_rng(0), [3, 2], actions=2)


class Broken(Population):
    """A population whose draws are spoilt."""

    def __init__(self):
        super().__init__(MODEL)
        self.drawn = 0

    def draw(self, rng, cases):
        return self.spoilt(super().draw(rng, cases), rng)


class RewardsAboveOne(Broken):
    def spoilt(self, draws, rng):
        return Draws(draws.values, 1.5 * draws.rewards)


class RewardsThatAreMissing(Broken):
    def spoilt(self, draws, rng):
        return Draws(draws.values, np.where(draws.rewards > 0, np.nan, 0.0))


class UndeclaredValues(Broken):
    def spoilt(self, draws, rng):
        return Draws(draws.values + np.int16(1), draws.rewards)


class ValuesInAnotherOrder(Broken):
    def spoilt(self, draws, rng):
        return Draws(draws.values[:, ::-1].copy(), draws.rewards)


class WideValues(Broken):
    def spoilt(self, draws, rng):
        return Draws(draws.values.astype(np.int64), draws.rewards)


class OneCaseTooMany(Broken):
    def draw(self, rng, cases):
        return super(Broken, self).draw(rng, cases + 1)


class RemembersHowManyWereDrawn(Broken):
    def spoilt(self, draws, rng):
        self.drawn += 1
        return Draws(draws.values, np.roll(draws.rewards, self.drawn, axis=0))


class RandomByItself(Broken):
    def draw(self, rng, cases):
        return super(Broken, self).draw(np.random.default_rng(3), cases)


class GlobalGenerator(Broken):
    def spoilt(self, draws, rng):
        np.random.random()  # noqa: NPY002
        return draws


class SortedCases(Broken):
    def spoilt(self, draws, rng):
        order = np.argsort(draws.values[:, 0], kind="stable")
        return Draws(draws.values[order], draws.rewards[order])


class HandsOutItsOwnArrays(Broken):
    def __init__(self):
        super().__init__()
        self.kept = {}

    def spoilt(self, draws, rng):
        key = rng.bit_generator.state["state"]["state"], len(draws.values)
        return self.kept.setdefault(key, draws)


class ChangesItsProblem(Broken):
    def spoilt(self, draws, rng):
        self.model = random_model(rng, [3, 2], actions=2)
        return draws


class KeepsTheGenerator(Broken):
    def draw(self, rng, cases):
        self.rng = rng
        time.sleep(0.05)  # other threads come in between
        return super(Broken, self).draw(self.rng, cases)


FOUND_BY = {
    ChangesItsProblem: ["check_has_one_problem"],
    WideValues: ["check_draws_as_many_cases_as_asked"],
    OneCaseTooMany: ["check_draws_as_many_cases_as_asked"],
    UndeclaredValues: ["check_values_are_declared"],
    ValuesInAnotherOrder: ["check_values_are_declared"],
    RewardsAboveOne: ["check_rewards_lie_within_range"],
    RewardsThatAreMissing: ["check_rewards_lie_within_range"],
    RemembersHowManyWereDrawn: [
        "check_same_seed_same_draws",
        "check_one_seed_is_one_stream",
        "check_learners_run_in_it",
    ],
    RandomByItself: ["check_randomness_is_the_generators"],
    GlobalGenerator: ["check_randomness_is_the_generators"],
    SortedCases: ["check_cases_are_independent"],
    HandsOutItsOwnArrays: ["check_draws_are_the_callers"],
    KeepsTheGenerator: ["check_draws_in_threads"],
}


def fails(check, broken):
    try:
        check(broken)
    except Exception:
        return True
    return False


@pytest.mark.parametrize("broken", FOUND_BY, ids=lambda broken: broken.__name__)
def test_what_is_broken_is_found(broken):
    failed = {check.__name__ for check in ENVIRONMENT_CHECKS if fails(check, broken)}
    assert failed >= set(FOUND_BY[broken])


def test_every_check_can_fail():
    checks = {check.__name__ for check in ENVIRONMENT_CHECKS}
    assert {name for names in FOUND_BY.values() for name in names} == checks


def test_the_suite_stops_at_what_is_broken():
    with pytest.raises(AssertionError, match=r"a reward of 1\.5"):
        check_environment(RewardsAboveOne)
