"""Noise is told apart from effects by the evidence, also where rewards are skewed."""

import itertools
import random

import msgspec
import numpy as np
import pytest

import askwise as aw
from askwise.counting import UNIT, Statistics
from askwise.estimation.anova import inverse_covariance
from askwise.estimation.joint import JointModel
from askwise.estimation.no_effect import (
    LEVELS,
    MOST_PROBABLE,
    ODDS,
    SCALES,
    _Evidence,
    depend_on_others,
    no_effects,
    without_effects,
)
from askwise.states import Lattice

LOSS, WIN = -2250.0, 300.0
RANGES = [(LOSS, WIN), (-4000.0, 450.0), (-10_000.0, 1000.0)]


def looks(names, values=("a", "b", "c"), **options):
    observations = [aw.Observation(name, values=list(values), cost=1.0) for name in names]
    return aw.Problem(observations=observations, actions=["accept", "decline"], **options)


def counted(problem, cases, mean, seed=0):
    """Cases in which everything was bought, with rewards of 0 or 1 of these means at [a, φ]."""
    rng, lattice = np.random.default_rng(seed), Lattice(problem)
    statistics = Statistics(lattice)
    offset = lattice.layout.offsets[-2]
    for state, action in rng.integers((lattice.size - offset, 2), size=(cases, 2)):
        statistics.count_reward(offset + state, action, float(rng.random() < mean[action, state]))
    model = JointModel(lattice)
    for _ in range(3):
        model.update(statistics)
    return model, statistics


def seen(statistics):
    return statistics.action_counts.sum(axis=1)


@pytest.mark.parametrize("values", ["abc", (1, 2, 3)], ids=["in no order", "ordered"])
def test_the_evidence_is_that_of_a_gaussian(values):
    """Against the density of the mean rewards of states, by numpy.linalg alone."""
    rng = np.random.default_rng(1)
    model, statistics = counted(looks("xy", values), 300, rng.uniform(0.2, 0.8, (2, 9)))
    s2, of_x = model.effect_variances.copy(), model.sets_with(0)
    data, target = model.evidence_of_cases()
    offset = model.lattice.layout.offsets[-2]

    def log_density(variances):
        pairs = inverse_covariance(model.radices, variances, model.ordered)[model.patterns]
        found = []
        for action in range(2):
            precision = np.diag(np.triu(data[action]))  # everything was bought: D is diagonal
            spread = np.linalg.inv(pairs) + np.diag(1 / precision)
            seen = statistics.reward_sums[offset:, action] * UNIT
            seen = seen / statistics.action_counts[offset:, action] - model.centre
            found.append(np.linalg.slogdet(spread)[1] + seen @ np.linalg.solve(spread, seen))
            np.testing.assert_allclose(target[action], precision * seen)
        return -0.5 * np.array(found)

    without = log_density(np.where(of_x, 1e-9, 1.0) * s2)
    log_ratio_of = _Evidence.of(model).log_ratios(0)
    for scale, level in itertools.product(SCALES, LEVELS):
        part = np.where(model.set_levels <= level, scale, 1e-9)
        expected = log_density(np.where(of_x, part, 1.0) * s2) - without
        assert log_ratio_of(scale, level) == pytest.approx(expected, abs=1e-5)


def test_noise_has_no_effect_and_what_matters_has():
    matters = np.array([[0.8, 0.5, 0.3], [0.4, 0.5, 0.6]])
    mean, found = np.repeat(matters, 3, axis=1), []  # x matters, y is noise
    for seed in range(10):
        model, statistics = counted(looks("xy"), 2_000, mean, seed)
        found.append(no_effects(model, statistics.action_counts))
    assert all(one.probability[0] < 1e-6 for one in found)
    of_x = [False, True, False, False]  # of the sets ∅, x, y and both
    assert all((one.part[of_x] == 1.0).all() for one in found)
    of_noise = [one.probability[1] for one in found]
    assert np.mean(of_noise) > 0.15
    assert max(of_noise) <= MOST_PROBABLE


def test_an_action_that_was_never_taken_hides_no_noise():
    """It is evidence neither for nor against effects on the actions that were taken."""
    problem = looks("xy")
    problem = msgspec.structs.replace(problem, actions=(*problem.actions, aw.Action("appeal")))
    for seed in range(3):
        model, statistics = counted(problem, 20_000, np.full((2, 9), 0.95), seed)
        assert not statistics.action_counts[:, 2].any()
        found = no_effects(model, statistics.action_counts)
        assert (found.part[1:] <= 0.1).all()
        assert found.probability == pytest.approx(1 / (1 + ODDS))


def test_two_that_matter_only_together_have_an_effect():
    mean = np.where(np.arange(9) % 2, [[0.8], [0.2]], [[0.2], [0.8]])
    model, statistics = counted(looks("xy"), 2_000, mean)
    assert (no_effects(model, statistics.action_counts).probability < 1e-6).all()


def test_what_tells_of_another_is_not_noise():
    """A test that tells the result of a dearer one has no effect of its own."""
    problem = looks("xyz", values="ab")
    ill = np.random.default_rng(3).random(800) < 0.3
    right, noise = np.random.default_rng(4).random((2, 800)) < [[0.9], [0.5]]
    rows = np.where(right, ill, ~ill), ill, noise
    log = {n: np.where(row, "a", "b").tolist() for n, row in zip("xyz", rows, strict=True)}
    log["action"] = ["accept", "decline"] * 400
    log["reward"] = np.where(ill == (np.arange(800) % 2 == 0), 1.0, 0.0).tolist()
    fitted = aw.fit(log, problem)
    statistics = fitted.learner().statistics
    model = JointModel(Lattice(problem))
    model.update(statistics, 50)
    assert depend_on_others(model, seen(statistics)).tolist() == [True, True, False]
    found = no_effects(model, statistics.action_counts)
    assert found.probability[0] == found.probability[1] == 0
    assert found.probability[2] > 0.1


@pytest.mark.parametrize("cases", [1, 2, 5])
def test_few_cases_show_no_dependence(cases):
    """Nor does an observation of one value, whose mutual information is 0 but for rounding."""
    observations = [
        aw.Observation(name, values=list(values), cost=1.0)
        for name, values in {"x": "a", "y": "ab", "z": "abc"}.items()
    ]
    problem = aw.Problem(observations=observations, actions=["accept", "decline"])
    model, statistics = counted(problem, cases, np.full((2, 6), 0.5))
    assert not depend_on_others(model, seen(statistics)).any()


def test_nothing_is_said_without_cases():
    model = JointModel(Lattice(looks("xy")))
    statistics = Statistics(model.lattice)
    model.update(statistics)
    found = no_effects(model, statistics.action_counts)
    assert found.probability == pytest.approx(1 / (1 + ODDS))
    assert found.part == pytest.approx(1.0)


def test_without_effects_every_set_with_the_observation_has_none():
    model = JointModel(Lattice(looks("xyz")))
    part = without_effects(model, np.array([False, True, True])) / model.effect_variances
    assert part[:2] == pytest.approx(1.0)  # of no observation, and of x
    assert part[2:] == pytest.approx(1e-6)


@pytest.mark.parametrize("rewards", RANGES[:2], ids=str)
def test_noise_at_a_low_price_does_not_seem_to_pay(rewards):
    """Online, with rare losses: states are left after an early loss and look bad."""
    bought = []
    for seed in (0, 1):
        rng = random.Random(seed)
        learner = aw.Learner(looks("xyz", rewards=rewards), rng=seed)
        for _ in range(2_000):
            case = learner.open()
            while case.wanted:
                case.observe({name: rng.choice("abc") for name in case.wanted})
            lost = rng.random() < 0.05
            case.reward(0.0 if case.action == "decline" else LOSS if lost else WIN)
        worth = aw.worth(learner)
        assert all(row.verdict != "pays" and row.break_even_low == 0 for row in worth)
        bought.append(sum(row.bought for row in worth))
    assert min(bought) == 0


@pytest.mark.parametrize("rewards", RANGES, ids=str)
def test_the_range_of_rewards_does_not_change_the_gain(rewards):
    """After decisions at random, buying nothing gains the mean of what accepting earned."""
    rng = random.Random(7)
    log = {name: [] for name in ("w", "x", "y", "order", "action", "reward")}
    for _ in range(1_500):
        bought = rng.sample("wxy", rng.randrange(4))
        for name in "wxy":
            log[name].append(rng.choice("abc") if name in bought else None)
        log["order"].append(",".join(bought))
        log["action"].append(rng.choice(["accept", "decline"]))
        lost = rng.random() < 0.05
        log["reward"].append(0.0 if log["action"][-1] == "decline" else LOSS if lost else WIN)
    fitted = aw.fit(log, looks("wxy", rewards=rewards), order="order", acquisition="sequential")
    earned = [r for r, a in zip(log["reward"], log["action"], strict=True) if a == "accept"]
    assert aw.worth(fitted).blind_gain == pytest.approx(np.mean(earned), abs=6.0)
