"""What a running learner planned is what the theorems say: solved by LP, radii written out anew.

Every state, the exact t, several populations and times. `MUTATIONS` has what was tried against it:
each of them makes it fail. The source itself was changed by hand as well, with the theorems' and
with tight radii, in Sim-OOS and in Seq-OOS; what went red here:

    conf₂ = 0; both radii halved; the radii of the other theorem; t off by one    all four of them
    conf₂ capped at 1                        both with the theorems' radii, the young learner first
    the same with tight radii                `test_one_unlucky_look_does_not_pin_it_for_ever`
    random actions (only as a mutant)        all four of them, and the growth of regret
"""

import math

import numpy as np
import pytest

import askwise as aw
import reference
from askwise._kernels.radii import Radii
from askwise.counting import UNIT
from askwise.simulation.environments import Population
from hard_models import HARD, rare, three, unlucky
from inside import full_plan
from mutants import DELTA, KINDS, MUTATIONS, maker

LOG_2 = math.log(2)


class Written:
    """The radii of a confidence at time t, from the paper and from docs/radii.md."""

    def __init__(self, confidence, model, kind, t):
        problem = model.problem
        self.radices = [len(o.outcomes) for o in problem.observations]
        self.states = list(reference.all_states(self.radices, problem.m))
        psi_tot, actions, d = len(self.states), len(problem.actions), len(self.radices)
        simultaneous = kind is aw.SimOOS
        self.confidence = confidence
        if confidence == "theorem":
            self.conf1 = math.log(20 * psi_tot * actions * t**5 / DELTA) / 2
            psi_max = max(self.radices)
            if simultaneous:
                self.radii = Radii(outcomes=10 * psi_tot * math.log(4 * t / DELTA))
            else:
                log = math.log(4 * d * psi_tot * t / DELTA)
                self.radii = Radii(outcomes=10 * psi_max * log)
        else:
            late = 2 * math.log(2 + math.log(t) / math.log(1.1))
            subsets = len({reference.domain(s) for s in self.states})
            looks = sum(d - len(s) for s in self.states if len(s) < problem.m)
            number = subsets if simultaneous else looks
            self.conf1 = 1.1 * (math.log(8 * psi_tot * actions / DELTA) + late)
            outcomes = 2 * 1.1 * (math.log(2 * number / DELTA) + late)
            self.radii = Radii(outcomes=outcomes, per_outcome=2 * 1.1 * LOG_2)

    def reward(self, mean, n, graded):
        """min(1, r̂ + conf₁), from the mean of rewards and that of r(1 − r)."""
        if n == 0:
            return 1.0
        if self.confidence == "theorem":
            return min(1.0, mean + math.sqrt(self.conf1 / n))
        eps = self.conf1 / n

        def radius(variance, lean):
            b = eps * max(0.0, lean - 2 * mean)
            return b + math.sqrt(b * b + 2 * eps * max(0.0, variance))

        least = max(0.0, graded - math.sqrt(eps * graded / 2))
        coin = mean * (1 - mean)
        conf1 = min(radius(coin, 1), radius(coin - least, 4 / 3)) if graded else radius(coin, 1)
        return min(1.0, mean + conf1)


class Graded(Population):
    """Rewards of the same means that are not 0 or 1: a third as far from the mean."""

    def draw(self, rng, cases):
        draws = super().draw(rng, cases)
        mean = self.model.reward[tuple(draws.values.T)]
        return draws._replace(rewards=mean + (draws.rewards - mean) / 3)


def check_plan(make, model, kind, cases, confidence="theorem", population=Population):
    """The values of every state, and what is done where the plan leads."""
    learner = make(model.problem, clock="exact")
    aw.simulate(learner, population(model), steps=cases, rng=cases)
    live, every = learner.replan(), full_plan(learner)
    lattice, statistics = learner.statistics.lattice, learner.statistics
    written = Written(confidence, model, kind, cases + 1)
    states = written.states
    counts, means = statistics.action_counts, statistics.mean_rewards()
    graded = statistics.graded_sums * UNIT / np.maximum(1, counts)
    index = [
        [
            written.reward(*cell)
            for cell in zip(means[k], counts[k].tolist(), graded[k], strict=True)
        ]
        for k in range(len(states))
    ]
    reward = {state: max(row) for state, row in zip(states, index, strict=True)}
    if kind is aw.SimOOS:
        weight = dict(zip(states, statistics.visits.tolist(), strict=True))
        plan = reference.plan_simultaneous
        expected = plan(model.problem, written.radices, reward, weight, written.radii)
        promised, best = every.values, max(expected)
        reached = list(lattice.states(int(live.table.sets[0])))
    else:
        weight = {
            (states[s], i, states[c]): int(statistics.transitions[c, lattice.slot(c, i)])
            for s in range(lattice.size)
            for i in range(lattice.buyable)
            for c in lattice.children(s, i)
        }
        plan = reference.plan_sequential
        value = plan(model.problem, written.radices, reward, weight, written.radii)
        expected = [value[state] for state in states]
        promised, best = every.values, value[reference.NOTHING]
        reached = reached_by(live)
        followed = [live.values[state] for state in reached]
        right = [expected[state] for state in reached]
        assert np.allclose(followed, right, rtol=0, atol=1e-9), "not what the theorem says"
    assert np.allclose(promised, expected, rtol=0, atol=1e-9), "not what the theorem says"
    assert abs(live.value - best) <= 1e-9, "not what the theorem says"
    for state in reached:
        if not live.looks(state):
            best_action = max(index[state])
            taken = index[state][live.act(state)]
            assert taken >= best_action - 1e-12, "not what the theorem says"
    assert best < 1.0, "nothing was learned yet: any radii would promise 1"


def reached_by(policy):
    """Every state that a sequential policy can lead to."""
    open_states, reached = [0], []
    while open_states:
        state = open_states.pop()
        reached.append(state)
        for i in policy.looks(state):
            open_states += policy.lattice.children(state, i)
    return reached


@pytest.mark.parametrize("cases", [5_000, 50_000, 300_000])
@pytest.mark.parametrize("model", HARD)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("confidence", ["theorem", "tight"])
def test_a_running_learner_plans_what_the_theorem_says(confidence, kind, model, cases):
    check_plan(maker(kind, confidence=confidence), model(), kind, cases, confidence)


@pytest.mark.parametrize("kind", KINDS)
def test_a_young_learner_plans_what_the_theorem_says(kind):
    """When conf₂ is still above 1 for some looks, so that a cap of 1 would show."""
    check_plan(maker(kind), three(), kind, 2_000)


@pytest.mark.parametrize("kind", KINDS)
def test_tight_radii_go_by_what_rewards_really_varied(kind):
    make = maker(kind, confidence="tight")
    for model in (unlucky(), three()):
        check_plan(make, model, kind, 20_000, "tight", population=Graded)


UNSEEN = ("conf₂ capped at 1", "tight")
"""Tight radii are above 1 only after a look that was hardly ever taken: no run here has one. What
such a look does is in `test_guarantee.py`."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("mutation", "confidence"),
    [(m, c) for m in MUTATIONS for c in ("theorem", "tight") if (m, c) != UNSEEN],
)
def test_every_mutation_is_found(mutation, kind, confidence):
    found = False
    make = maker(kind, confidence=confidence, **MUTATIONS[mutation])
    for model, cases in (
        (unlucky(), 50_000),
        (three(), 2_000),
        (three(), 5_000),
        (three(), 50_000),
        (rare(), 2_000),
        (unlucky(), 300_000),
    ):
        try:
            check_plan(make, model, kind, cases, confidence)
        except AssertionError as error:
            found = "not what the theorem says" in str(error)
        if found:
            break
    assert found, f"{mutation} was not found"
