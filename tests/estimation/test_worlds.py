"""Worlds that are possible: drawn as the model says, the same ones from the same counters."""

import numpy as np
import pytest

import askwise as aw
from askwise.counting import UNIT, Statistics
from askwise.estimation.beliefs import joint_beliefs
from askwise.estimation.complete_records import Log
from askwise.estimation.joint import FLOOR, MASS, JointModel
from askwise.estimation.worlds import World, joint_worlds, mean_world, worlds_by_states
from askwise.learners.learner import rounds_of
from askwise.simulation.environments import Population, breast_cancer
from askwise.states import Lattice
from random_problems import random_model, random_problem


def binary_looks(names="xy"):
    return aw.Problem(
        observations=[aw.Observation(n, values=[0, 1], cost=1) for n in names],
        actions=["a", "b"],
        reward_value=100,
    )


def counted(problem, cells, earned):
    """Cases that saw everything: how many of each full state, and what each action earned."""
    statistics = Statistics(Lattice(problem))
    full = statistics.lattice.layout.offsets[-2]
    for cell, n in enumerate(cells):
        for action in range(2):
            statistics.action_counts[full + cell, action] = n
            statistics.reward_sums[full + cell, action] = round(n * earned[cell][action] / UNIT)
    statistics.cases = 2 * sum(cells)
    return statistics


def test_a_population_whose_cells_were_seen_is_dirichlet():
    """Mean and variance of Dirichlet(cases), worked out from its parameters."""
    statistics = counted(binary_looks(), [40, 160, 80, 120], [(0.5, 0.5)] * 4)
    model = JointModel(statistics.lattice)
    model.update(statistics, 200)
    seen, rng = statistics.action_counts.sum(axis=1), np.random.default_rng(0)
    start, drawn = model.population.copy(), []
    for _ in range(4_000):
        model.population[:] = start
        model.draw_population(rng, seen)
        drawn.append(model.population.copy())
    by_marginals = np.outer(*(start.reshape(2, 2).sum(axis=k) for k in (1, 0))).ravel()
    cases = 2 * np.array([40, 160, 80, 120]) + MASS * by_marginals + FLOOR / 4
    p = cases / cases.sum()
    np.testing.assert_allclose(np.mean(drawn, axis=0), p, atol=0.002)
    np.testing.assert_allclose(np.var(drawn, axis=0), p * (1 - p) / (cases.sum() + 1), rtol=0.12)


def test_what_was_not_seen_is_drawn_too():
    """With nothing known of y, its share varies as widely as imagined cases let it."""
    problem = binary_looks()
    statistics = Statistics(Lattice(problem))
    lattice = statistics.lattice
    for x, n in ((0, 9_000), (1, 1_000)):
        statistics.action_counts[lattice.index({"x": x}), 0] = n
    statistics.cases = 10_000
    model = JointModel(lattice)
    model.update(statistics, 200)
    rng, seen = np.random.default_rng(0), statistics.action_counts.sum(axis=1)
    shares = []
    for _ in range(1_000):
        model.draw_population(rng, seen)
        shares.append(
            (model.probability[lattice.index({"x": 1})], model.probability[lattice.index({"y": 1})])
        )
    of_x, of_y = np.std(shares, axis=0)
    assert np.mean(shares, axis=0)[0] == pytest.approx(0.1, abs=0.01)
    assert of_x < 0.005
    assert of_y > 0.03


def test_wide_worlds_have_the_means_and_variances_of_the_model():
    statistics = counted(
        binary_looks(), [400, 300, 200, 500], [(0.2, 0.7), (0.5, 0.4), (0.8, 0.6), (0.3, 0.3)]
    )
    beliefs = joint_beliefs(statistics)
    worlds = beliefs.worlds(400).wide
    rewards = np.array([world.reward for world in worlds])
    np.testing.assert_allclose(rewards.mean(axis=0), beliefs.reward, atol=0.01)
    full = slice(statistics.lattice.layout.offsets[-2], None)
    np.testing.assert_allclose(rewards.var(axis=0)[full], beliefs.variance[full], rtol=0.3)


def test_the_same_counters_give_the_same_worlds_and_nothing_changes():
    model = breast_cancer(cost=5.0)
    learner = aw.Learner(model.problem, rng=0)
    aw.simulate(learner, Population(model), steps=500, rng=0)
    before = rounds_of(learner).now.rng.bit_generator.state
    known = learner.evidence()
    first, again, other = known.worlds(3), known.worlds(3), learner.evidence().worlds(3)
    for kind in ("learned", "wide"):
        for a, b, c in zip(*(getattr(w, kind) for w in (first, again, other)), strict=True):
            assert (a.reward == b.reward).all()
            assert (a.probability == c.probability).all()
    assert str(aw.worth(learner)) == str(aw.worth(learner))
    assert rounds_of(learner).now.rng.bit_generator.state == before


def test_evidence_stands_still_while_the_learner_goes_on():
    model = breast_cancer(cost=5.0)
    learner = aw.Learner(model.problem, rng=0)
    aw.simulate(learner, Population(model), steps=300, rng=0)
    known, twin = learner.evidence(), learner.evidence()
    expected = twin.worlds(2).learned[1].reward
    aw.simulate(learner, Population(model), steps=300, rng=1)
    assert (known.worlds(2).learned[1].reward == expected).all()


@pytest.mark.parametrize("seed", range(4))
def test_worlds_of_states_have_the_variances_that_are_asked_for(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, random_problem(rng, most=48, buys=True))
    lattice = Lattice(model.problem)
    p, _ = model.marginals(lattice)
    mean = np.full((lattice.size, len(model.problem.actions)), 0.5)
    variance = rng.uniform(1e-5, 4e-4, mean.shape)
    worlds = worlds_by_states(lattice, p, mean, variance, 1_500)
    drawn = np.array([world.reward for world in worlds])
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.003)
    assert np.median(drawn.var(axis=0) / variance) == pytest.approx(1, abs=0.15)


def test_the_mean_of_worlds_weighs_rewards_by_how_often_they_are_earned():
    worlds = [
        World(np.array([1.0, 0.2]), np.array([[0.5], [1.0]])),
        World(np.array([1.0, 0.6]), np.array([[0.7], [0.0]])),
    ]
    mean = mean_world(worlds)
    np.testing.assert_allclose(mean.probability, [1.0, 0.4])
    np.testing.assert_allclose(mean.reward[:, 0], [0.6, 0.25])


def test_learned_variances_shrink_where_nothing_matters():
    """Rewards that are the same everywhere: worlds differ less than first variances let them."""
    statistics = counted(binary_looks("uvwxyz"), [5] * 64, [(0.6, 0.4)] * 64)
    model = JointModel(statistics.lattice)
    model.update(statistics, 50)
    spread = {}
    for learned in (True, False):
        model.effect_variances[:] = JointModel(statistics.lattice).effect_variances
        worlds = joint_worlds(model, statistics, 150, "learned" if learned else "wide", np.zeros(6))
        full = slice(statistics.lattice.layout.offsets[-2], None)
        spread[learned] = np.mean([world.reward[full].std(axis=0).mean() for world in worlds])
    assert spread[True] < 0.8 * spread[False]


def test_if_most_cases_are_decisions_of_a_log_variances_are_halfway():
    """Worlds differ less than with first variances, and more than with estimated ones."""
    statistics = counted(binary_looks("uvwxy"), [4] * 32, [(0.6, 0.4)] * 32)
    full = slice(statistics.lattice.layout.offsets[-2], None)

    def spread(worlds):
        return np.std([world.reward[full] for world in worlds], axis=0).mean()

    of_log = joint_beliefs(statistics, Log(cases=statistics.cases)).worlds(100)
    own = joint_beliefs(statistics, Log(cases=statistics.cases // 3)).worlds(100)
    for found, expected in zip(of_log.settled[50:], own.learned, strict=False):
        assert (found.reward == expected.reward).all()
    assert of_log.settled[:50] == of_log.learned[50:]
    assert len(of_log.settled) == 100
    assert spread(own.settled) < 0.95 * spread(of_log.learned)
    assert spread(of_log.learned) < 0.95 * spread(of_log.wide)
    alone = joint_beliefs(statistics).worlds(100)
    for kind in ("learned", "wide", "settled"):
        assert spread(getattr(own, kind)) == spread(getattr(alone, kind))
