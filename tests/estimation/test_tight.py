"""The inequalities of tight radii hold at all times at once, and narrower ones do not."""

import math

import numpy as np
import pytest

import askwise as aw
from askwise.estimation.optimistic import optimistic_estimates
from askwise.estimation.tight import count_looks, tight_radii

DELTA, STREAMS, LENGTH = 0.8, 400, 3_000
"""A δ so large that a failure shows in this many streams."""


def schedule_and_lattice(values):
    """One observation that can be looked at in one state, one action."""
    problem = aw.Problem(
        observations=[aw.Observation("x", values=list(range(values)), cost=0.1)], actions=["a"]
    )
    lattice = aw.states.Lattice(problem)
    return tight_radii(lattice, "sequential", delta=DELTA), lattice


def streams(mean, varies):
    """Rewards of that mean: 0 or 1, all over [0, 1], or within a tenth of the mean."""
    rng = np.random.default_rng([int(1000 * mean), len(varies)])
    coins = (rng.random((STREAMS, LENGTH)) < mean).astype(float)
    if varies == "like a coin":
        return coins
    if varies == "widely":
        return rng.beta(2 * mean, 2 * (1 - mean), (STREAMS, LENGTH))
    return mean + 0.1 * (coins - mean)


def conf1_of(average, graded, eps):
    """conf₁ from r̂, the mean of r(1 − r) and ε."""
    coin = average * (1 - average)

    def radius(variance, lean):
        b = eps * np.maximum(0, lean - 2 * average)
        return b + np.sqrt(b**2 + 2 * eps * np.maximum(0, variance))

    least = np.maximum(0, graded - np.sqrt(eps * graded / 2))
    return np.minimum(radius(coin, 1), radius(coin - least, 4 / 3))


def share_ever_above(mean, varies, narrower=1.0):
    """In how many streams r̄ > r̂ + conf₁ at some n, with t = n, the earliest that it can be.

    And how wide conf₁ is in the end.
    """
    schedule, _ = schedule_and_lattice(2)
    rewards = streams(mean, varies)
    n = np.arange(1, LENGTH + 1)
    average = np.cumsum(rewards, axis=1) / n
    graded = np.cumsum(rewards * (1 - rewards), axis=1) / n
    eps = np.array([schedule.at(int(t)).reward for t in n]) / n * narrower
    conf1 = conf1_of(average, graded, eps)
    return (average + conf1 < mean - 1e-9).any(axis=1).mean(), conf1[:, -1].mean()


FAILURES = 3 * DELTA / 24
"""The union over 8 · A · Ψ_tot gives each of the three events behind conf₁ δ / (8 · 3)."""


@pytest.mark.parametrize("varies", ["like a coin", "widely", "little"])
@pytest.mark.parametrize("mean", [0.02, 0.3, 0.5, 0.9])
def test_conf1_holds_at_all_times(mean, varies):
    assert share_ever_above(mean, varies)[0] <= FAILURES


@pytest.mark.parametrize(
    ("varies", "part"), [("like a coin", 1 / 3), ("widely", 1 / 3), ("little", 1 / 10)]
)
def test_conf1_at_a_part_of_its_width_does_not(varies, part):
    assert share_ever_above(0.5, varies, narrower=part**2)[0] > FAILURES


def test_conf1_is_narrow_where_rewards_vary_little():
    wide, narrow = (share_ever_above(0.5, varies)[1] for varies in ("like a coin", "little"))
    assert narrow < wide / 2


@pytest.mark.parametrize("varies", ["like a coin", "widely", "little"])
def test_what_is_planned_with_has_that_conf1(varies):
    """The mean and conf₁ of the streams above, by the counters of a learner."""
    schedule, lattice = schedule_and_lattice(2)
    for mean in (0.02, 0.5, 0.9):
        rewards = streams(mean, varies)[0]
        for n in (1, 7, 300, 3_000):
            statistics = aw.counting.Statistics(lattice)
            for reward in rewards[:n].tolist():
                statistics.count_reward(0, 0, reward)
            radii = schedule.at(n)
            found = optimistic_estimates(statistics, statistics.transitions, radii).reward[0]
            average = rewards[:n].mean()
            graded = (rewards[:n] * (1 - rewards[:n])).mean()
            assert found == pytest.approx(
                min(1.0, average + conf1_of(average, graded, radii.reward / n)), abs=1e-6
            )


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
    assert first.reward == pytest.approx(1.1 * math.log(8 * 12 * 2 / 0.1))
