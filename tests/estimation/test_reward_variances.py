"""How much rewards vary: measured, leaning on all states, never nothing, a coin's for 0 and 1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import askwise as aw
from askwise.counting import UNIT, Statistics
from askwise.estimation.evidence import variance_of_mean
from askwise.estimation.joint import JointModel
from askwise.estimation.reward_variances import reward_variances, varied_as_coins
from askwise.estimation.shrinkage import PARENT_RECORDS, shrink_to_parents, variance_of_means
from askwise.simulation.environments import Draws
from askwise.states import Lattice

LEAST = 0.0475


def of(rewards):
    """The variances of one action that earned these in one state."""
    r = np.array(rewards, np.float64)
    n, earned, graded = np.array([[float(len(r))]]), np.array([[r.sum()]]), r @ (1 - r)
    return reward_variances(n[0], earned[0], np.array([graded]), varied_as_coins(n, earned))


def test_rewards_of_0_and_1_have_the_variance_of_a_coin():
    found = of([0.0, 1.0, 1.0, 0.0, 1.0])
    assert found.usual.tolist() == [4 / 7]
    assert found.usually_graded.tolist() == [0.0]
    assert found.least.tolist() == [LEAST]


def test_an_action_that_seldom_fails_has_the_least_variance_of_its_own_mean():
    found = of([1.0] * 398)
    assert found.least.item() == pytest.approx(399 / 400 / 400)


def test_the_variance_of_graded_rewards_is_measured():
    rewards = np.random.default_rng(0).uniform(0.9, 0.92, 5_000)
    found = of(rewards)
    of_all = found.usual * (1 - found.usual) - found.usually_graded
    assert of_all.item() == pytest.approx(rewards.var(), rel=0.02)
    assert found.least.item() == pytest.approx(of_all.item())


@given(st.lists(st.floats(0, 1), min_size=0, max_size=40))
def test_no_variance_is_ever_nothing(rewards):
    found = of(rewards)
    assert 0 < found.least.item() <= LEAST
    total, graded = sum(rewards), sum(r * (1 - r) for r in rewards)
    assert variance_of_mean(total, graded, len(rewards)) > 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_the_variance_of_a_mean_is_that_of_the_rewards_and_of_half_a_coin(rewards):
    n = len(rewards)
    weights, values = [1.0] * n + [0.5, 0.5], [*rewards, 0.0, 1.0]
    middle = np.average(values, weights=weights)
    expected = np.average((np.array(values) - middle) ** 2, weights=weights) / (n + 2)
    graded = sum(r * (1 - r) for r in rewards)
    assert variance_of_mean(sum(rewards), graded, n) == pytest.approx(expected)


def small():
    return aw.Problem(
        observations=[aw.Observation("mri", values=[0, 1], cost=0.1)], actions=["wait", "treat"]
    )


def test_a_state_without_the_rare_loss_is_not_known_for_sure():
    """Losses came in the one state. The other, where none has come yet, is not believed blindly."""
    statistics = Statistics(Lattice(small()))
    for _ in range(97):
        statistics.count_reward(1, 0, 0.95)
    for _ in range(3):
        statistics.count_reward(1, 0, 0.0)
    for _ in range(40):
        statistics.count_reward(2, 0, 0.95)
    model = JointModel(statistics.lattice)
    for _ in range(3):  # the variances are those at the means of the update before
        model.update(statistics)
    error = np.sqrt(model.variances()[2, 0])
    assert error > 0.3 * np.sqrt(0.03 * 0.95**2 / 40)
    assert error < np.sqrt(LEAST / 40)  # less than by a coin's variance


def test_means_of_records_are_surer_the_less_they_vary():
    lattice = Lattice(small())
    counts, sums = np.full((3, 2), 50), np.full((3, 2), 45.0)
    reward = shrink_to_parents(lattice, counts, sums)
    coin = variance_of_means(lattice, reward, counts, np.zeros((3, 2)))
    n = counts + PARENT_RECORDS
    middle = (reward * n + 0.5) / (n + 1)
    assert np.array_equal(coin, middle * (1 - middle) / (n + 2))
    alike = variance_of_means(lattice, reward, counts, np.full((3, 2), 50 * 0.9 * 0.1))
    assert (alike < 0.2 * coin).all()
    assert (alike > 0).all()


class Noisy:
    """Rewards around 0.9 or 0.91, as the observation says, hardly varying."""

    problem = small()

    def draw(self, rng, cases):
        """Cases of which the half show a 1."""
        values = rng.integers(2, size=(cases, 1)).astype(np.int16)
        right = 0.9 + 0.02 * np.stack([values[:, 0] == 0, values[:, 0] == 1], axis=1)
        return Draws(values, right + rng.uniform(-0.005, 0.005, (cases, 1)))


def test_a_difference_of_two_hundredths_is_found_in_500_cases():
    cheap = Noisy()
    cheap.problem = small().priced({"mri": 0.002})
    learner = aw.Learner(cheap.problem, rng=1)
    aw.simulate(learner, cheap, steps=500, rng=2)
    assert learner.recommend().observations == ("mri",)


@pytest.mark.parametrize("kind", [aw.Learner, aw.SeqOOS, aw.SimOOS])
def test_compiled_runs_count_squares_as_cases_do(kind):
    one, other = (kind(Noisy.problem, rng=4) for _ in range(2))
    aw.simulate(one, Noisy(), steps=200, rng=9)
    aw.simulate(other, Noisy(), steps=200, rng=9, log=True)
    assert one.statistics == other.statistics
    assert one.statistics.graded_sums.any()
    squares, sums = one.statistics.reward_squares, one.statistics.reward_sums
    assert (squares[sums > 0] < sums[sums > 0]).all()
    assert squares.sum() * UNIT == pytest.approx(200 * 0.9**2, rel=0.05)
