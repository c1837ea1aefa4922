"""Those that explore apart: Epoch-Greedy and online probing."""

import math

import numpy as np
import pytest

import askwise as aw
from histories import every_policy, rounds_in, states_of, tiny_model
from inside import now_of, strategy_of

B = aw.baselines


def weighted_gain(problem, explored, bought, acts):
    """(n(I), Σ_s (β A r_s [a_s = h(ψ_s)] − c(I))) of exploring cases that bought all of I."""
    cost = sum(o.cost for o in problem.observations if o.name in bought)
    gains = []
    for done in explored:
        if set(bought) <= set(done.state):
            part = tuple(sorted((n, done.state[n]) for n in bought))
            stands_for = len(problem.actions) * (done.action == acts[part])
            gains.append(problem.reward_value * stands_for * done.reward - cost)
    return len(gains), sum(gains)


def epochs(problem, cases):
    """Langford and Zhang's epochs, case by case: whether it explores; s_l = ⌊√(l / (A ln |Π|))⌋."""
    complexity = len(problem.actions) * math.log(len(list(every_policy(problem))))
    explores, epoch = [], 0
    while len(explores) < cases:
        epoch += 1
        explores += [True] + [False] * math.floor(math.sqrt(epoch / complexity))
    return explores[:cases]


def test_epoch_greedy_is_fitted_on_exploring_cases_only():
    """Against every policy there is, valued on the exploring cases one by one."""
    model = tiny_model(8)
    problem, fitted = model.problem, 0
    explores = epochs(problem, 300)
    for now in rounds_in(B.EpochGreedy(problem, rng=3), model, 300, seed=2):
        if explores[now.t - 1]:
            assert math.isnan(now.policy.value)  # drawn at random
            continue
        explored = [d for d, is_one in zip(now.history, explores, strict=False) if is_one]
        valued = {}
        for bought, acts in every_policy(problem):
            n, total = weighted_gain(problem, explored, bought, acts)
            if n:
                valued[bought, tuple(sorted(acts.items()))] = total / n
        bought = now.policy.wanted({})
        acts = {tuple(sorted(s.items())): now.policy.action(s) for s in states_of(problem, bought)}
        assert valued[bought, tuple(sorted(acts.items()))] == pytest.approx(max(valued.values()))
        assert now.policy.value == pytest.approx(max(valued.values()))
        fitted += 1
    assert fitted > 20


def test_epoch_greedy_learns_nothing_from_cases_that_exploit():
    model = tiny_model(8)
    learner = B.EpochGreedy(model.problem, rng=3)
    for _ in rounds_in(learner, model, 300):
        pass
    assert strategy_of(learner).explored.visits[0] == sum(epochs(model.problem, 300))
    assert learner.statistics.action_counts.sum() == 300


def test_online_probing_weighs_every_policy():
    """P(I) and P(h(ψ) = a | I) of all policies, one by one, with losses that count 1/p times.

    Two observations, at most one of them bought: a probe sees each with probability ½.
    """
    model = tiny_model(9)
    problem = model.problem
    learner = B.OnlineProbing(problem, rng=5)
    checked = 0
    for now in rounds_in(learner, model, 250, seed=3):
        strategy = strategy_of(learner)
        if strategy.is_exploring(now_of(learner)):
            assert len(now.policy.wanted({})) == problem.m
            continue
        squares = sum(2 / 0.5 * math.ceil(round(s ** (1 / 3), 9)) for s in range(1, now.t))
        rate = math.sqrt(2 * math.log(3 * 2**2) / squares)
        weights, states = {}, {}
        for bought, acts in every_policy(problem):
            total = 0.0
            for done in now.history:
                if done.round in probed and set(bought) <= set(done.state):
                    chance = probed[done.round] * (0.5 if bought else 1.0)
                    total += weighted_gain(problem, [done], bought, acts)[1] / chance
            weight = 2.0 ** -len(acts) * math.exp(rate * total / problem.reward_value)
            weights[bought] = weights.get(bought, 0.0) + weight
            for state, action in acts.items():
                key = state, action
                states[key] = states.get(key, 0.0) + weight
        lattice = learner.statistics.lattice
        by_set, by_action = strategy.log_weights(lattice, now.t)
        for subset in range(lattice.subsets):
            bought = lattice.names_of(lattice.members(subset))
            ratio = math.exp(by_set[subset, 0] - by_set[0, 0])
            assert ratio == pytest.approx(weights[bought] / weights[()])
            for state in lattice.states(subset):
                named = tuple(sorted(lattice.state(state).items()))
                ratio = math.exp(by_action[state, 1] - by_action[state, 0])
                expected = [states[named, action] for action in problem.action_names]
                assert ratio == pytest.approx(expected[1] / expected[0])
        checked += 1
    assert checked > 10


@pytest.fixture(autouse=True)
def _note_probes(monkeypatch):
    """Which rounds probed, and how likely that was for each of the cases since the last probe."""
    from askwise.learners.baselines.online_probing import Probing

    probed.clear()
    draw, since = Probing._draw_round, [1]

    def noted(self, now):
        follows = now.round > 1 and not self._round[0]
        since[0] = since[0] if follows else now.t
        draw(self, now)
        if self._round[0]:
            probed[now.round] = 1 / math.ceil(round(since[0] ** (1 / 3), 9))

    monkeypatch.setattr(Probing, "_draw_round", noted)


probed = {}


def test_online_probing_is_unbiased_of_how_many_cases_there_were():
    """Probes count 1/p times each, so together as often as there were cases, in the mean."""
    model = tiny_model(9)
    counted, probes = [], []
    for seed in range(12):
        learner = B.OnlineProbing(model.problem, rng=seed)
        aw.simulate(learner, aw.environments.Population(model), steps=3_000, rng=seed)
        counted.append(int(strategy_of(learner).explored.visits[0]))
        probes.append(len(probed))
        probed.clear()
    assert np.mean(counted) == pytest.approx(3_000, rel=0.05)
    expected = sum(1 / math.ceil(round(t ** (1 / 3), 9)) for t in range(1, 3_001))
    assert np.mean(probes) == pytest.approx(expected, rel=0.1)
