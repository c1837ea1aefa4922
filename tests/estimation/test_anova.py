"""Effects of sets of observations: their prior, their squares, how large they are found to be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import askwise as aw
from askwise.counting import UNIT, Statistics
from askwise.estimation.anova import (
    first_variances,
    inverse_covariance,
    patterns,
    sets_of,
    sums_of_squares,
)
from askwise.estimation.joint import OF_LEVEL, JointModel
from askwise.states import Lattice
from effects import plain_prior, projections


@st.composite
def shapes(draw):
    """Outcomes of some observations, and how many ordered values each has, if it has any."""
    radices = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    scales = [draw(st.sampled_from([0, x, x - 1] if x > 3 else [0])) for x in radices]
    return np.array(radices), np.array(scales)


@given(shapes(), st.integers(0, 1000))
def test_the_inverse_of_the_prior(shape, seed):
    radices, ordered = shape
    variances = np.random.default_rng(seed).uniform(0.1, 1, 1 << len(radices))
    cells = np.array(list(np.ndindex(*radices)))
    table = inverse_covariance(radices, variances, ordered)
    inverse = table[patterns(cells, radices, ordered)]
    assert np.allclose(inverse @ plain_prior(radices, variances, ordered), np.eye(len(inverse)))


@given(shapes(), st.integers(0, 1000))
def test_the_squares_of_effects(shape, seed):
    radices, ordered = shape
    effects = np.random.default_rng(seed).normal(size=(2, int(np.prod(radices))))
    squares = sums_of_squares(effects, radices, ordered)
    expected = [
        np.trace(effects @ e @ effects.T) / effects.shape[1]
        for e in projections(radices, ordered, inverse=True)
    ]
    assert np.allclose(squares, expected)


def settled_variances(effects, cases, rounds=60):
    """What the variances of effects come to after cases in all full states, on average."""
    radices = np.array((2, 3, 2))
    problem = aw.Problem(
        observations=[
            aw.Observation(f"o{i}", values=range(x), cost=1) for i, x in enumerate(radices)
        ],
        actions=["x", "y", "z"],
    )
    lattice, rng = Lattice(problem), np.random.default_rng(0)
    statistics, model = Statistics(lattice), JointModel(lattice)
    for cell, digits in enumerate(np.ndindex(*radices)):
        state = lattice.index({f"o{i}": x for i, x in enumerate(digits)})
        statistics.action_counts[state] = cases
        earned = rng.binomial(cases, 0.5 + effects[:, cell])
        statistics.reward_sums[state] = np.rint(earned / UNIT)
    total = np.zeros(1 << len(radices))
    for number in range(2 * rounds):
        model.update(statistics)
        model.draw_effect_variances(rng)
        total += model.effect_variances * (number >= rounds)
    return total / rounds, first_variances(radices), sets_of(radices)


def test_noise_is_not_taken_for_effects():
    """Where nothing has an effect, the variances fall, the more the more of them."""
    found, first, _ = settled_variances(np.zeros((3, 12)), cases=1_000)
    assert (found[1:] < 0.4 * first[1:]).all()
    assert found[1:].sum() < 0.3 * first[1:].sum()


def test_one_observation_that_decides_keeps_its_variance():
    """Its effect is found however little all the others have: each set has its own variance."""
    effects = np.zeros((3, 12))
    second = np.arange(12) // 2 % 3
    effects[:] = 0.4 * np.array([[1, -0.5, -0.5], [-0.5, 1, -0.5], [-0.5, -0.5, 1]])[:, second]
    found, _, (_, coefficients) = settled_variances(effects, cases=1_000)
    true = sums_of_squares(effects, np.array((2, 3, 2)), np.zeros(3, int))[0b10] / (
        3 * coefficients[0b10]
    )
    assert 0.5 < found[0b10] / true < 2.5
    others = [0b1, 0b100]
    assert (found[others] < 0.7 * found[0b10]).all()


@pytest.mark.parametrize("grow", [True, False])
def test_without_cases_a_variance_keeps_its_mean_unless_it_may_grow(grow):
    """E[1 / χ²] is 1 / (n − 2), so a draw of s² has the mean s² n / (n − 2).

    Four binary observations and two actions: a set has n = 2 + OF_LEVEL.
    """
    problem = aw.Problem(
        observations=[aw.Observation(f"o{i}", values=range(2), cost=1) for i in range(4)],
        actions=["x", "y"],
    )
    lattice, rng = Lattice(problem), np.random.default_rng(0)
    model, first = JointModel(lattice), first_variances(np.full(4, 2))
    drawn = []
    for _ in range(3_000):
        model.effect_variances[:] = first
        model.update(Statistics(lattice))
        model.draw_effect_variances(rng, grow=grow)
        drawn.append(model.effect_variances / first)
    n = 2 + OF_LEVEL
    assert np.mean(drawn) == pytest.approx(n / (n - 2) if grow else 1.0, rel=0.03)
