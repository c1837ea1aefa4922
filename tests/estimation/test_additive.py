"""The additive model's parts against numpy and brute force."""

import itertools

import numpy as np
import pytest

from askwise import Observation, Problem, oracle
from askwise._kernels.estimation.additive_groups import (
    Data,
    Effects,
    draw_effects,
    evidence,
    residuals,
)
from askwise._kernels.estimation.shortlist import marginalise, maximise, project
from askwise.counting import Statistics
from askwise.estimation.additive import AdditiveModel
from askwise.estimation.contrasts import scaled_contrasts
from askwise.estimation.shortlist import Shortlist, ShortlistPrior, cell_features, draw_weights
from askwise.planning import plan_sequential
from askwise.states import Lattice
from askwise.testing import random_model


def problem(values, *, m=2, actions=2, cost=0.01, beta=1.0):
    return Problem(
        observations=[
            Observation(f"o{i}", values=list(range(n)), cost=cost) for i, n in enumerate(values)
        ],
        actions=[f"a{a}" for a in range(actions)],
        max_observations=m,
        reward_value=beta,
    )


# --- Bayes factors and posteriors ----------------------------------------------------------------


def group(seed, values=4, columns=3, actions=2):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 20, (values, actions)).astype(float)
    sums = rng.normal(size=(values, actions)) * np.sqrt(counts)
    basis = np.zeros((values, columns + 1))  # wider than needed, as for a smaller observation
    basis[:, :columns] = rng.normal(size=(values, columns))
    noise = rng.uniform(0.1, 0.4, actions)
    return counts, sums, basis, noise


def solve_group(seed, variance=0.3, columns=3):
    counts, sums, basis, noise = group(seed)
    factor = np.empty((2, columns + 1, columns + 1))
    mean = np.empty((2, columns + 1))
    found = evidence(counts, sums, basis, columns, noise, variance, factor, mean)
    return found, factor[:, :columns, :columns], mean[:, :columns]


@pytest.mark.parametrize("seed", range(5))
def test_the_bayes_factor_is_that_of_the_marginal_likelihoods(seed):
    counts, sums, basis, noise = group(seed)
    found, _, _ = solve_group(seed)
    expected = 0.0
    for a in range(2):
        met = counts[:, a] > 0
        n, f = counts[met, a], basis[met, :3]
        mean, spike = sums[met, a] / n, np.diag(noise[a] / n)
        slab = spike + 0.3 * f @ f.T
        for covariance, sign in ((slab, 1.0), (spike, -1.0)):
            log_det = np.linalg.slogdet(covariance)[1]
            square = mean @ np.linalg.solve(covariance, mean)
            expected += sign * -0.5 * (log_det + square)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_posterior_of_a_group_is_ridge_regression(seed):
    counts, sums, basis, noise = group(seed)
    _, factor, mean = solve_group(seed)
    for a in range(2):
        f = basis[:, :3]
        precision = f.T @ (counts[:, [a]] * f) / noise[a] + np.eye(3) / 0.3
        np.testing.assert_allclose(mean[a], np.linalg.solve(precision, f.T @ sums[:, a] / noise[a]))
        np.testing.assert_allclose(np.tril(factor[a]), np.linalg.cholesky(precision))


def test_drawn_effects_have_the_posterior_s_mean_and_spread():
    _, _, basis, _ = group(1)
    _, factor, mean = solve_group(1)
    rng, out = np.random.default_rng(0), np.empty((4, 2))
    drawn = np.empty((20_000, 4, 2))
    for effect in drawn:
        draw_effects(rng, basis, 3, factor, mean, out)
        effect[:] = out
    for a in range(2):
        lower = np.tril(factor[a])
        covariance = basis[:, :3] @ np.linalg.inv(lower @ lower.T) @ basis[:, :3].T
        np.testing.assert_allclose(drawn[:, :, a].mean(axis=0), basis[:, :3] @ mean[a], atol=0.03)
        np.testing.assert_allclose(np.cov(drawn[:, :, a].T), covariance, atol=0.03)


def test_drawn_weights_without_spread_are_ridge_regression_around_one_half():
    rng = np.random.default_rng(3)
    expected, counts = rng.normal(size=(9, 4)), rng.integers(0, 30, (9, 2)).astype(float)
    expected[:, 0] = 1.0
    sums, noise, variance = counts * rng.random((9, 2)), np.array([0.2, 0.3]), np.full(4, 0.5)
    weights = draw_weights(expected, counts, sums, noise, variance, rng, spread=0.0)
    for a in range(2):
        precision = expected.T @ np.diag(counts[:, a] / noise[a]) @ expected + 2.0 * np.eye(4)
        target = expected.T @ (sums[:, a] - 0.5 * counts[:, a]) / noise[a]
        solved = np.linalg.solve(precision, target) + np.array([0.5, 0, 0, 0])
        np.testing.assert_allclose(weights[a], solved)


def test_residuals_take_away_what_is_known():
    effects = Effects(
        np.array([0.5, 0.25]), np.zeros((3, 2, 2)), np.full((3, 3), -1), np.zeros((1, 2, 2, 2))
    )
    effects.main[2, 1] = 0.1, -0.1
    effects.slot[0, 2] = 0
    effects.pair[0, 1, 1] = 0.05, 0.2
    data = Data(
        np.array([[-1, -1], [0, 2], [2, -1]]),
        np.array([[0, 0], [1, 1], [1, 0]]),
        np.array([[4.0, 0.0], [10.0, 1.0], [1.0, 2.0]]),
        np.array([[3.0, 0.0], [7.0, 1.0], [0.0, 1.0]]),
        np.zeros((3, 2)),
    )
    out = np.empty((3, 2))
    residuals(data, effects, out)
    expected = [[3 - 4 * 0.5, 0.0], [7 - 10 * 0.65, 1 - 0.35], [-0.6, 1 - 2 * 0.15]]
    np.testing.assert_allclose(out, expected)


# --- the joint model of a few --------------------------------------------------------------------


def few_of(values, m=2):
    lattice = Lattice(problem(values, m=m))
    strides = np.append(np.cumprod(values[:0:-1])[::-1], 1)
    return Shortlist(tuple(range(len(values))), lattice, strides)


def test_marginals_are_those_of_the_model():
    model = random_model(np.random.default_rng(4), [2, 3, 2], max_observations=2)
    lattice = Lattice(model.problem)
    few = few_of([2, 3, 2])
    probability, reward = model.marginals(lattice)
    every = np.arange(lattice.size)
    out_p, out = np.empty(lattice.size), np.empty((lattice.size, 3))
    cells = model.reward.reshape(-1, 3).copy()
    p = model.probability.ravel().copy()
    marginalise(lattice.layout, few.strides, p, cells, every, out_p, out)
    np.testing.assert_allclose(out_p, probability)
    np.testing.assert_allclose(out, reward)


def test_maximising_never_lowers_the_likelihood_and_finds_complete_data():
    few = few_of([2, 3], m=2)
    lattice, rng = few.lattice, np.random.default_rng(5)
    visits = rng.integers(0, 30, lattice.size).astype(float)
    nothing, p = np.zeros(6), np.full(6, 1 / 6)
    last = -np.inf
    for _ in range(20):
        maximise(lattice.layout, few.strides, visits, nothing, 1, p)
        out_p, out = np.empty(lattice.size), np.empty((lattice.size, 1))
        every = np.arange(lattice.size)
        marginalise(lattice.layout, few.strides, p, np.ones((6, 1)), every, out_p, out)
        now = float(visits @ np.log(out_p))
        assert now >= last - 1e-9
        last = now
    complete = np.zeros(lattice.size)
    complete[-6:] = visits[-6:]
    maximise(lattice.layout, few.strides, complete, nothing, 1, p)
    np.testing.assert_allclose(p, complete[-6:] / complete.sum())


def test_rows_are_projected_on_what_they_know_of_the_few():
    few = few_of([2, 3], m=2)
    place = np.array([-1, 0, -1, 1])  # the few are observations 1 and 3 of four
    data = Data(
        np.array([[0, 1], [1, 3], [2, -1], [3, -1]]),
        np.array([[1, 1], [0, 2], [0, 0], [2, 0]]),
        np.eye(4)[:, :2] + 1.0,
        np.ones((4, 2)),
        np.full((4, 2), 0.5),
    )
    counts, sums, graded = np.empty((3, few.lattice.size, 2))
    project(few.lattice.layout, place, data, counts, sums, graded)
    for row, digits in enumerate([{0: 1}, {0: 0, 1: 2}, {}, {1: 2}]):
        np.testing.assert_array_equal(counts[few.lattice.index_of(digits)], data.counts[row])
    assert counts.sum() == data.counts.sum()
    assert sums.sum() == data.sums.sum()
    assert graded.sum() == data.graded.sum()


def test_the_features_of_cells_are_products():
    few = few_of([2, 3], m=2)
    marginals = [np.array([0.3, 0.7]), np.array([0.2, 0.3, 0.5])]
    features = [
        scaled_contrasts(len(p))[1:].T - scaled_contrasts(len(p))[1:] @ p for p in marginals
    ]
    prior = ShortlistPrior(
        marginals, features, np.ones(2), np.array([0.1, 0.2]), np.full((2, 2), 0.3)
    )
    columns, variance = cell_features(few, prior)
    np.testing.assert_allclose(variance, [0.25, 0.1, 0.2, 0.2, 0.3, 0.3])
    for cell, (x, y) in enumerate(itertools.product(range(2), range(3))):
        pair = np.kron(features[0][x], features[1][y])
        np.testing.assert_allclose(columns[cell], [1.0, *features[0][x], *features[1][y], *pair])
    weight = np.outer(*marginals).ravel()
    np.testing.assert_allclose(weight @ columns[:, 1:], 0.0, atol=1e-12)


# --- from counters to a world -------------------------------------------------------------------


def counted(lattice, events):
    statistics = Statistics(lattice, sparse=True)
    for event in events:
        statistics.count_reward(*event)
    return statistics


def test_rows_are_the_same_whatever_the_order_of_rewards():
    lattice = Lattice(problem([2] * 12, m=3))
    rng = np.random.default_rng(6)
    events = [
        (int(state), int(rng.integers(2)), float(rng.random()))
        for state in rng.choice(lattice.size, 3_000)
    ]
    shuffled = [events[i] for i in rng.permutation(len(events))]
    models = [AdditiveModel(lattice), AdditiveModel(lattice)]
    statistics = [counted(lattice, order) for order in (events, shuffled)]
    data = [model.data(s) for model, s in zip(models, statistics, strict=True)]
    for one, other in zip(*data, strict=True):
        np.testing.assert_array_equal(one, other)
    drawn = []
    for model, s in zip(models, statistics, strict=True):
        rng = np.random.default_rng(0)
        drawn.append(model.screen(s, rng).draw_estimates(rng, spread=0.3))
    np.testing.assert_array_equal(drawn[0].reward, drawn[1].reward)
    counts = np.zeros((lattice.size, 2))
    for state, action, _ in events:
        counts[state, action] += 1
    np.testing.assert_array_equal(data[0].counts, counts[counts.any(axis=1)])


def test_rows_know_what_their_states_saw(kernels):
    lattice = Lattice(problem([2, 3, 2, 3], m=3))
    statistics = counted(lattice, [(state, 0, 1.0) for state in range(lattice.size)])
    data = AdditiveModel(lattice).data(statistics)
    for state in range(lattice.size):
        pairs = [(i, x) for i, x in zip(data.seen[state], data.value[state], strict=True) if i >= 0]
        assert pairs == lattice.digits(state)


def test_the_small_world_of_everything_is_close_to_the_truth():
    truth = random_model(np.random.default_rng(17), [2, 2, 2], actions=2, highest_cost=0.02)
    model = AdditiveModel(Lattice(truth.problem))
    statistics = Statistics(model.lattice, sparse=True)
    rng = np.random.default_rng(18)
    values = truth.sample(rng, 60_000)
    mean = truth.reward[tuple(values.T)]
    for t in range(len(values)):
        seen = rng.permutation(3)[: rng.integers(4)]
        state = model.lattice.index_of({int(i): int(values[t, i]) for i in seen})
        action = int(rng.integers(2))
        statistics.count_reward(state, action, float(mean[t, action]))
    model.tallies.marginal[:, 0] = (values == 0).sum(axis=0)
    model.tallies.marginal[:, 1] = (values == 1).sum(axis=0)
    for _ in range(5):
        screened = model.screen(statistics, rng)
    few, world = screened.shortlist, screened.draw_estimates(rng, spread=0.0)
    weight = np.repeat(world.weight[:, None], few.lattice.m, axis=1)
    plan = plan_sequential(few.lattice, world._replace(weight=weight))
    assert len(few.observations) == 3
    assert plan.values[0] == pytest.approx(oracle.sequential(truth).value, abs=0.02)
