"""How the effect of one observation is made up."""

import numpy as np
import pytest

import askwise as aw
from askwise.counting import UNIT, Statistics
from askwise.estimation.additive import AdditiveModel
from askwise.estimation.contrasts import (
    contrasts,
    dual_contrasts,
    ordered_values,
    scaled_contrasts,
    shares_of_variance,
)
from askwise.estimation.joint import JointModel
from askwise.states import Lattice
from effects import walk

SHAPES = [(1, 0), (2, 0), (5, 0), (3, 3), (8, 8), (9, 8), (4, 3)]


@pytest.mark.parametrize(("outcomes", "ordered"), SHAPES)
def test_contrasts_are_orthonormal_and_sum_to_zero(outcomes, ordered):
    basis = contrasts(outcomes, ordered)
    np.testing.assert_allclose(basis @ basis.T, np.eye(outcomes), atol=1e-12)
    np.testing.assert_allclose(basis[1:].sum(axis=1), 0.0, atol=1e-12)


@pytest.mark.parametrize(("outcomes", "ordered"), SHAPES)
def test_they_make_up_a_random_walk(outcomes, ordered):
    """Against the pseudo-inverse of the Laplacian of a path, found by numpy."""
    scaled, dual = scaled_contrasts(outcomes, ordered)[1:], dual_contrasts(outcomes, ordered)[1:]
    covariance = walk(outcomes, ordered)
    np.testing.assert_allclose(scaled.T @ scaled, covariance, atol=1e-12)
    np.testing.assert_allclose(dual.T @ dual, np.linalg.pinv(covariance), atol=1e-10)
    assert shares_of_variance(outcomes, ordered)[1:].sum() == pytest.approx(outcomes - 1)


def test_values_lean_on_their_neighbours_if_they_are_ordered():
    plain = aw.Observation("grade", values=range(5), cost=1)
    assert ordered_values(plain) == 0
    assert ordered_values(aw.Observation("grade", values=range(5), cost=1, ordered=True)) == 5
    assert ordered_values(aw.Observation("side", values=["L", "R"], cost=1, ordered=True)) == 0
    assert (
        ordered_values(aw.Observation.binned("age", edges=[40, 60], cost=1, fails="charged")) == 3
    )
    assert ordered_values(aw.Observation.binned("age", edges=[40, 60], cost=1, ordered=False)) == 0


def estimated(*, ordered, given=False):
    """E[r] of the five values of an observation of which only the second was seen, often."""
    problem = aw.Problem(
        observations=[
            aw.Observation("side", values=["L", "R"], cost=1),
            aw.Observation(
                "grade", values=range(5), cost=0 if given else 1, given=given, ordered=ordered
            ),
        ],
        actions=["x", "y"],
    )
    lattice = Lattice(problem)
    statistics, model = Statistics(lattice), JointModel(lattice)
    for value, earned in ((1, 90), (4, 40)):
        state = lattice.index({"grade": value})
        statistics.action_counts[state, 0] = 100
        statistics.reward_sums[state, 0] = round(earned / UNIT)
    model.update(statistics, 50)
    reward = model.mean_rewards()[:, 0]
    return [reward[lattice.index({"grade": value})] for value in range(5)]


@pytest.mark.parametrize("given", [False, True])
def test_what_was_not_seen_leans_on_its_neighbours(given):
    """Bought or given: the place of an observation among the digits must be its own."""
    none, all_in_order = (estimated(ordered=o, given=given) for o in (False, True))
    assert none[0] == pytest.approx(none[2]) == pytest.approx(none[3])
    assert all_in_order[0] > all_in_order[3] + 0.1
    assert all_in_order[1] > all_in_order[2] > all_in_order[3] > all_in_order[4]


def test_the_additive_model_has_the_same_features():
    observations = [
        aw.Observation("grade", values=range(4), cost=1, ordered=True, fails="charged"),
        aw.Observation("side", values=["L", "R"], cost=1),
    ]
    model = AdditiveModel(Lattice(aw.Problem(observations=observations, actions=["x", "y"])))
    np.testing.assert_allclose(model._basis[0] @ model._basis[0].T, walk(5, 4), atol=1e-12)
    np.testing.assert_array_equal(model._basis[1, :2, 0], scaled_contrasts(2)[1])
