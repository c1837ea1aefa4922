"""The inequalities of tight radii hold at all times at once, and narrower ones do not."""

import math

import numpy as np
import pytest

import askwise as aw
from askwise.estimation.tight import count_looks, tight_radii

DELTA, STREAMS, LENGTH = 0.8, 1_500, 3_000
"""A δ so large that a failure shows in this many streams."""


def schedule_and_lattice(values):
    """One observation that can be looked at in one state, one action."""
    problem = aw.Problem(
        observations=[aw.Observation("x", values=list(range(values)), cost=0.1)], actions=["a"]
    )
    lattice = aw.states.Lattice(problem)
    return tight_radii(lattice, "sequential", delta=DELTA), lattice


def share_ever_above(mean, narrower, graded):
    """In how many streams r̄ > r̂ + conf₁ at some n, with t = n, the earliest that it can be."""
    rng = np.random.default_rng(int(1000 * mean) + graded)
    schedule, _ = schedule_and_lattice(2)
    if graded:
        rewards = rng.beta(2 * mean, 2 * (1 - mean), (STREAMS, LENGTH))
    else:
        rewards = (rng.random((STREAMS, LENGTH)) < mean).astype(float)
    n = np.arange(1, LENGTH + 1)
    average = np.cumsum(rewards, axis=1) / n
    width = np.array([schedule.at(int(t)).reward for t in n]) / n * narrower
    lean = width * np.maximum(0, 1 - 2 * average)
    conf1 = lean + np.sqrt(lean**2 + 2 * width * average * (1 - average))
    return (average + conf1 < mean - 1e-12).any(axis=1).mean()


@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("mean", [0.02, 0.3, 0.5, 0.9])
def test_conf1_holds_at_all_times(mean, graded):
    """The union of 4 · A · Ψ_tot gives this one pair δ / (4 · 3), for either side."""
    assert share_ever_above(mean, 1.0, graded) <= DELTA / 12


@pytest.mark.parametrize("mean", [0.02, 0.5])
def test_conf1_at_a_third_of_its_width_does_not(mean):
    assert share_ever_above(mean, 1 / 9, False) > DELTA / 12


def share_ever_apart(probability, narrower):
    """In how many streams Σ|p − p̂| > conf₂ at some n, with t = n."""
    rng = np.random.default_rng(len(probability))
    schedule, _ = schedule_and_lattice(len(probability))
    seen = rng.choice(len(probability), p=probability, size=(STREAMS, LENGTH))
    n = np.arange(1, LENGTH + 1)
    apart = np.zeros((STREAMS, LENGTH))
    for value, p in enumerate(probability):
        apart += np.abs(np.cumsum(seen == value, axis=1) / n - p)
    radii = [schedule.at(int(t)) for t in n]
    width = np.array([r.outcomes + r.per_outcome * len(probability) for r in radii]) * narrower
    return (apart > np.minimum(2.0, np.sqrt(width / n)) + 1e-12).any(axis=1).mean()


@pytest.mark.parametrize("probability", [(0.5, 0.5), (0.05, 0.95), (0.4, 0.4, 0.2), (0.1,) * 10])
def test_conf2_holds_at_all_times(probability):
    """Half of δ goes to looks, of which there is one."""
    assert share_ever_apart(probability, 1.0) <= DELTA / 2


@pytest.mark.parametrize("probability", [(0.5, 0.5), (0.4, 0.4, 0.2), (0.1,) * 10])
def test_conf2_at_a_third_of_its_width_does_not(probability):
    assert share_ever_apart(probability, 1 / 9) > DELTA / 2


def test_looks_are_counted():
    """[2, 3] values: 2 looks from nothing, 2 + 3 states with one look left."""
    problem = aw.Problem(
        observations=[
            aw.Observation("x", values=[0, 1], cost=0.1),
            aw.Observation("y", values=[0, 1, 2], cost=0.1),
        ],
        actions=["a", "b"],
    )
    lattice = aw.states.Lattice(problem)
    assert count_looks(lattice) == 2 + 2 + 3
    first = tight_radii(lattice, "sequential", delta=0.1)
    assert first.outcomes == pytest.approx(2 * 1.1 * math.log(2 * 7 / 0.1))
    assert first.reward == pytest.approx(1.1 * math.log(4 * 12 * 2 / 0.1))
