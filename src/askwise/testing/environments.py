"""Checks for every environment, by the contract of `askwise.simulation.environments.Environment`.

An environment is checked only by what it draws. `MakesEnvironment` is its class, or a function that
makes a new one each time, always with the same population.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numpy as np

from askwise._support.typing import Floats
from askwise.learners import SeqOOS
from askwise.problem import Problem
from askwise.simulation import simulate
from askwise.simulation.environments import CHUNK, Draws, Environment, StakedDraws, stream

MakesEnvironment: TypeAlias = Callable[[], Environment]

MANY = 20_000
"""Cases that are drawn to see how often something happens."""

SIGMAS = 6.0
"""A frequency that is off by more standard deviations than this is not off by chance."""


def check_environment(make: MakesEnvironment) -> None:
    """Run every check; the first that fails raises."""
    for check in ENVIRONMENT_CHECKS:
        check(make)


def check_has_one_problem(make: MakesEnvironment) -> None:
    """The problem is a `Problem`, and drawing cases does not change it."""
    environment = make()
    problem = environment.problem
    assert isinstance(problem, Problem), f"problem is a {type(problem).__name__}"
    _draw(environment, 1, 10)
    assert environment.problem == problem, "the problem has changed"
    assert make().problem == problem, "another environment has another problem"


def check_draws_as_many_cases_as_asked(make: MakesEnvironment) -> None:
    """Checks that n cases have n rows: int16 columns of observations, float64 of actions."""
    environment = make()
    problem = environment.problem
    for cases in (0, 1, 7, 1000):
        draws = _draw(environment, 2, cases)
        assert isinstance(draws, Draws), f"draw returned a {type(draws).__name__}"
        for name, array, columns, kind in (
            ("values", draws.values, len(problem.observations), np.int16),
            ("rewards", draws.rewards, len(problem.actions), np.float64),
        ):
            assert isinstance(array, np.ndarray), f"{name} is a {type(array).__name__}"
            found = f"{name} has shape {array.shape} and dtype {array.dtype}"
            expected = f"expected {(cases, columns)} and {np.dtype(kind)}"
            assert array.shape == (cases, columns), f"{found}, {expected}"
            assert array.dtype == kind, f"{found}, {expected}"
        if isinstance(draws, StakedDraws):
            found = f"stakes has shape {draws.stakes.shape} and dtype {draws.stakes.dtype}"
            is_one_a_case = draws.stakes.shape == (cases,) and draws.stakes.dtype == np.float64
            assert is_one_a_case, f"{found}, expected {(cases,)} and float64"
            assert (draws.stakes > 0).all(), "a stake is not above 0"


def check_values_are_declared(make: MakesEnvironment) -> None:
    """Each value is a place among the outcomes of its observation, in the order of declaration."""
    environment = make()
    values = _draw(environment, 3, MANY).values
    for column, observation in zip(values.T, environment.problem.observations, strict=True):
        most = len(observation.outcomes) - 1
        assert column.min() >= 0, f"{observation.name}: a value of {column.min()}"
        assert column.max() <= most, f"{observation.name}: a value of {column.max()} above {most}"


def check_rewards_lie_within_range(make: MakesEnvironment) -> None:
    """Each action of each case earns a number from 0 to 1, or within the rewards of the problem."""
    environment = make()
    rewards = _draw(environment, 4, MANY).rewards
    low, high = environment.problem.rewards or (0.0, 1.0)
    for column, action in zip(rewards.T, environment.problem.action_names, strict=True):
        assert np.isfinite(column).all(), f"{action}: a reward that is not finite"
        assert column.min() >= low, f"{action}: a reward of {column.min()}"
        assert column.max() <= high, f"{action}: a reward of {column.max()}"


def check_same_seed_same_draws(make: MakesEnvironment) -> None:
    """A seed gives the same cases from a new environment, and from one that has drawn before."""
    environment = make()
    first = _draw(environment, 5, 500)
    _draw(environment, 6, 100)
    _same(first, _draw(environment, 5, 500))
    _same(first, _draw(make(), 5, 500))


def check_randomness_is_the_generators(make: MakesEnvironment) -> None:
    """The generator that is passed in moves on as cases are drawn, and NumPy's own is not used."""
    environment = make()
    before = np.random.get_state()  # noqa: NPY002
    rng = np.random.default_rng(7)
    first, second = environment.draw(rng, 500), environment.draw(rng, 500)
    after = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(x, y) for x, y in zip(before, after, strict=True)), (
        "NumPy's global generator was used"
    )
    if len(np.unique(_rows(first), axis=0)) > 1:
        assert not np.array_equal(_rows(first), _rows(second)), "the same cases were drawn again"
        other = _draw(environment, 8, 500)
        assert not np.array_equal(_rows(first), _rows(other)), "another seed, the same cases"


def check_one_seed_is_one_stream(make: MakesEnvironment) -> None:
    """However many cases are asked for, one seed means the same cases in the same order."""
    environment = make()

    def first(cases: int) -> Floats:
        parts = [_rows(draws) for draws in stream(environment, np.random.default_rng(9), cases)]
        return np.concatenate(parts)

    rows = first(2 * CHUNK + 100)
    assert len(rows) == 2 * CHUNK + 100
    for cases in (1, 99, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK):
        assert np.array_equal(first(cases), rows[:cases]), f"{cases} cases are other ones"
    assert not list(stream(environment, np.random.default_rng(9), 0))


def check_cases_are_independent(make: MakesEnvironment) -> None:
    """A case says nothing about the next: neighbours agree as often as cases that are apart."""
    environment = make()
    draws = _draw(environment, 10, MANY)
    columns = [*draws.values.T, *(draws.rewards > draws.rewards.mean(axis=0)).T]
    names = [o.name for o in environment.problem.observations]
    names += [f"the reward of {action}" for action in environment.problem.action_names]
    for name, column in zip(names, columns, strict=True):
        share = np.unique(column, return_counts=True)[1] / len(column)
        expected = float((share**2).sum())
        agree = float((column[1:] == column[:-1]).mean())
        spread = np.sqrt(expected * (1 - expected) / len(column))
        assert abs(agree - expected) <= SIGMAS * spread + 1e-9, (
            f"{name}: neighbours agree in {agree:.1%} of the cases, expected {expected:.1%}"
        )


def check_draws_are_the_callers(make: MakesEnvironment) -> None:
    """Checks that a caller's changes to drawn arrays change no later case."""
    environment = make()
    first = _draw(environment, 11, 500)
    kept = Draws(first.values.copy(), first.rewards.copy())
    for array in first:
        array[:] = 0
    _same(kept, _draw(environment, 11, 500))


def check_draws_in_threads(make: MakesEnvironment) -> None:
    """Several threads that draw at once, each with its own generator, get what each gets alone."""
    environment = make()
    alone = [_draw(environment, seed, 2000) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for seed, together in enumerate(pool.map(lambda s: _draw(environment, s, 2000), range(4))):
            _same(alone[seed], together)


def check_learners_run_in_it(make: MakesEnvironment) -> None:
    """A learner decides case after case, and earns what was drawn for the action it chose."""
    check_draws_as_many_cases_as_asked(make)  # what runs is compiled: it would read elsewhere
    check_values_are_declared(make)
    environment = make()
    run = simulate(SeqOOS(environment.problem, rng=0), environment, steps=300, rng=12)
    (draws,) = stream(environment, np.random.default_rng(12), 300)
    earned = draws.rewards[np.arange(300), run.action]
    assert len(run) == 300
    assert run.reward.tolist() == earned.tolist(), "a reward that was not drawn"


ENVIRONMENT_CHECKS: tuple[Callable[[MakesEnvironment], None], ...] = (
    check_has_one_problem,
    check_draws_as_many_cases_as_asked,
    check_values_are_declared,
    check_rewards_lie_within_range,
    check_same_seed_same_draws,
    check_randomness_is_the_generators,
    check_one_seed_is_one_stream,
    check_cases_are_independent,
    check_draws_are_the_callers,
    check_draws_in_threads,
    check_learners_run_in_it,
)


def _draw(environment: Environment, seed: int, cases: int) -> Draws:
    return environment.draw(np.random.default_rng(seed), cases)


def _rows(draws: Draws) -> Floats:
    """All that was drawn of each case, side by side."""
    return np.hstack([draws.values, draws.rewards])


def _same(one: Draws, other: Draws) -> None:
    assert np.array_equal(one.values, other.values), "one seed gave different values"
    assert np.array_equal(one.rewards, other.rewards), "one seed gave different rewards"
