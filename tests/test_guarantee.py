"""What the theorems promise, measured with the theorems' radii (β = 1)."""

import math

import numpy as np
import pytest

import askwise as aw
from askwise.testing import random_model, see

DELTA = 0.1
CASES = 4000
RUNS = 20


def run(kind, seed):
    """One run on a random model: was every plan optimistic, the regret, the rounds over time."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, [2, 2], actions=2, highest_cost=0.3)
    oracle = aw.oracle.simultaneous if kind is aw.SimOOS else aw.oracle.sequential
    best = oracle(model).value
    learner = kind(model.problem, confidence="theorem", delta=DELTA)
    optimistic, gain, rounds = True, 0.0, []
    for full in model.sample(rng, CASES).tolist():
        case = see(learner.open(), model.problem, full)
        if len(rounds) == 0 or learner.round != rounds[-1]:
            optimistic &= learner.policy.value >= best - 1e-12
        rounds.append(learner.round)
        reward = float(rng.random() < model.reward[tuple(full)][case.action_index])
        case.reward(reward)
        gain += reward - case.cost
    return optimistic, CASES * best - gain, rounds, learner.lattice


@pytest.mark.parametrize("kind", [aw.SimOOS, aw.SeqOOS])
def test_the_theorems_hold(kind):
    results = [run(kind, seed) for seed in range(RUNS)]
    share = sum(optimistic for optimistic, *_ in results) / RUNS
    assert share >= 1 - DELTA

    for _, regret, rounds, lattice in results:
        actions, observations = 2, 2
        states, subsets, outcomes = lattice.size, lattice.subsets, lattice.most_outcomes
        curve = math.sqrt(states * CASES * math.log(CASES / DELTA))
        if kind is aw.SimOOS:
            bound = (math.sqrt(actions) + math.sqrt(subsets)) * curve
            pairs = states * actions
        else:
            m = lattice.problem.m
            bound = (m * math.sqrt(outcomes * observations) + math.sqrt(actions)) * curve
            pairs = states * (actions + observations)
        assert regret <= bound  # the bound of the theorem with the constant 1

        # Jaksch et al., Proposition 18: at most S·A·log2(8T / S·A) rounds
        assert rounds[-1] <= pairs * math.log2(8 * CASES / pairs)

    # and so about equally many in each doubling of time; linear growth would make it 4 to 1
    late = sum(rounds[CASES - 1] - rounds[CASES // 2 - 1] for _, _, rounds, _ in results)
    early = sum(rounds[CASES // 4 - 1] - rounds[CASES // 8 - 1] for _, _, rounds, _ in results)
    assert 0 < late <= 2 * early


@pytest.mark.parametrize("kind", [aw.SimOOS, aw.SeqOOS])
def test_the_radii_are_those_of_the_theorems(kind):
    """At t = 7, δ = .1 for [2, 3] values, m = 2, 3 actions: Ψ_tot = 12, Ψ_max = 3, D = 2."""
    model = random_model(np.random.default_rng(0), [2, 3])
    learner = kind(model.problem, confidence="theorem", delta=0.1, clock="exact")
    radii = learner.confidence.radii(learner.lattice, learner.way.name, t=7)
    assert learner.lattice.size == 12
    for n in (1, 50, 10_000):
        conf1 = min(1, math.sqrt(math.log(20 * 12 * 3 * 7**5 / 0.1) / (2 * n)))
        if kind is aw.SimOOS:
            conf2 = min(1, math.sqrt(10 * 12 * math.log(4 * 7 / 0.1) / n))
        else:
            conf2 = min(1, math.sqrt(10 * 3 * math.log(4 * 2 * 12 * 7 / 0.1) / n))
        assert min(1, math.sqrt(radii.reward / n)) == pytest.approx(conf1)
        assert min(1, math.sqrt(radii.outcomes / n)) == pytest.approx(conf2)
    assert radii.per_outcome == 0
