"""Cases from real life: every event in any order, against a plain book of what happened."""

import itertools
import threading
from collections import Counter

import numpy as np
import pytest
from hypothesis import Phase, settings

import askwise as aw
import reference
from askwise.errors import CaseError
from askwise.learners.cases import Case
from case_machines import (
    MODELS,
    Additive,
    AdditiveAtOnce,
    AtOnce,
    AtOnceSparse,
    Joint,
    JointAtOnce,
    OneByOne,
    OneByOneSparse,
)
from inside import path_policy, set_policy
from random_problems import busy_models

MACHINES = [
    OneByOne, OneByOneSparse, AtOnce, AtOnceSparse, Joint, JointAtOnce, Additive, AdditiveAtOnce,
]  # fmt: skip
SETTINGS = settings(
    max_examples=8, stateful_step_count=40, phases=[Phase.generate], report_multiple_bugs=False
)
EVENTS = {
    "open", "on file", "observe", "failed", "reward", "late reward", "default",
    "default of a defaulted", "default of a rewarded", "correction", "cancelled while looking",
    "cancelled while acted", "loaded", "refused",
}  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
def test_any_order_of_events_agrees_with_the_book(machine):
    case = machine.TestCase
    case.settings = SETTINGS
    case().runTest()


def a_long_day(machine, seed, steps):
    """The same events by plain luck, as often as they come at a desk."""
    rng = np.random.default_rng([14, seed])

    def several(n):
        return rng.integers(0, 2**20, n).tolist()

    day = machine()
    day.begin(seed % len(MODELS))
    for _ in range(steps):
        pick, reward = int(rng.integers(2**20)), float(rng.random())
        what = rng.choice(
            ["open", "observe", "reward", "default", "correct", "cancel", "load", "refuse"],
            p=[0.18, 0.3, 0.12, 0.1, 0.06, 0.04, 0.03, 0.17],
        )
        if what == "open":
            day.open([several(8)], int(rng.integers(3)))
        elif what == "observe":
            day.observe(pick, several(8), bool(rng.integers(2)))
        elif what == "reward":
            day.reward(pick, reward, bool(rng.integers(2)))
        elif what == "load":
            day.save_and_load(0)
        elif what == "refuse":
            if day.book.entries:
                day.refuse(pick, int(rng.integers(2**20)))
        elif what == "cancel":
            day.cancel(pick)
        else:
            getattr(day, what)(pick, reward)
        day.learner_and_book_agree()


@pytest.mark.parametrize("machine", MACHINES)
def test_long_days_agree_with_the_book(machine):
    machine.happened.clear()
    for seed in range(5):
        a_long_day(machine, seed, 120)
    assert set(machine.happened) == EVENTS, machine.happened
    assert min(machine.happened.values()) >= 3, machine.happened


def test_the_problems_have_every_feature():
    given, fails, panels = Counter(), Counter(), Counter()
    for model in MODELS:
        problem = model.problem
        given[any(len(o.outcomes) > 1 for o in problem.observations if o.given)] += 1
        fails.update({o.fails for o in problem.observations if not o.given})
        panels[any(len(p.observations) > 1 for p in problem.panels)] += 1
    assert given[True] >= 2
    assert given[False] >= 1
    assert min(fails["charged"], fails["refunded"], panels[True]) >= 2


# --- what is given --------------------------------------------------------------------------


def clinic(*, ages):
    return aw.Problem(
        observations=[
            aw.Observation("age", values=ages, given=True),
            aw.Observation("lab", values=["neg", "pos"], cost=0.1),
        ],
        actions=["wait", "treat"],
    )


@pytest.mark.parametrize("make", [aw.SimOOS, lambda p: aw.Learner(p, acquisition="simultaneous")])
def test_what_was_on_file_is_no_fair_sample(make):
    learner = make(clinic(ages=["young", "old"]))
    learner.open({"age": "young", "lab": "pos"}).reward(1.0)
    assert learner.statistics.cases == 1
    assert learner.statistics.visits.sum() == 0
    assert learner.statistics.subset_visits.sum() == 0


def test_what_is_given_must_be_said_though_it_has_one_value():
    with pytest.raises(CaseError, match="age"):
        aw.SeqOOS(clinic(ages=["any"])).open()


# --- what it costs --------------------------------------------------------------------------------


class Nobody:
    """Learns nothing."""

    lock = threading.RLock()

    def acted(self, case):
        pass


def random_policies(rng, lattice):
    """One that buys one by one at random, another that buys a random set in each context."""
    look = np.full(lattice.size, -1, np.int16)
    for s in range(lattice.size):
        rest = [i for i in range(lattice.buyable) if len(lattice.children(s, i))]
        if rest and rng.random() < 0.9:
            look[s] = rng.choice(rest)
    actions = np.zeros(lattice.size, np.int16)
    yield path_policy(lattice, look, actions, np.zeros(lattice.size))
    sets = rng.integers(0, lattice.subsets, lattice.contexts)
    yield set_policy(lattice, sets, actions.copy(), np.zeros(lattice.context_subsets))


@pytest.mark.parametrize("seed", range(6))
def test_every_path_costs_what_its_set_costs(seed):
    seen = Counter()
    rng = np.random.default_rng([13, seed])
    for model in busy_models(40 + seed, 4, most=40):
        problem, lattice = model.problem, aw.states.Lattice(model.problem)
        names = [o.name for o in problem.observations if not o.given]
        for places in np.ndindex(model.probability.shape):
            full = {
                o.name: o.outcomes[x] for o, x in zip(problem.observations, places, strict=True)
            }
            for policy, filed in itertools.product(random_policies(rng, lattice), (False, True)):
                known = {o.name: full[o.name] for o in problem.observations if o.given}
                on_file = rng.permutation(names)[: rng.integers(problem.m + 1) * filed].tolist()
                known |= {name: full[name] for name in on_file}
                start = lattice.index(known)
                case = Case(1, policy, Nobody(), 0, start, lattice.subset_of(start))
                assert case.cost == 0.0
                while case.wanted:
                    name = str(rng.choice(case.wanted))
                    before = case.cost
                    case.observe({name: full[name]})
                    known[name] = full[name]
                    expected = reference.spent(problem, known, on_file)
                    assert abs(case.cost - expected) <= 1e-12 * problem.reward_value
                    seen["paid"] += case.cost > before
                    refunded = (
                        full[name] is None
                        and lattice.observations[lattice.position(name)].fails == "refunded"
                    )
                    assert case.cost == before or not refunded
                    seen["refunded"] += refunded
                    seen["on file"] += bool(on_file)
                    seen["shared"] += any(
                        name in p.observations and set(p.observations) & (set(known) - {name})
                        for p in problem.panels
                    )
    assert min(seen.values()) >= 20, seen
    assert len(seen) == 4


def test_cases_may_end_while_one_iterates_over_them():
    learner = aw.Learner(
        aw.Problem(
            observations=[aw.Observation("mri", values=["neg", "pos"], cost=0.9)],
            actions=["wait", "treat"],
        ),
        rng=0,
    )
    for _ in range(6):
        case = learner.open()
        if case.wanted:
            case.observe({"mri": "neg"})
    assert repr(learner.cases) == "<WaitingCases: 6 of 6>"
    for number in learner.cases:
        if number <= 2:
            learner.cases[number].reward(1.0)
    for case in learner.cases.values():
        if case.id <= 4:
            case.cancel()
    for number, case in learner.cases.items():
        assert case.id == number
        case.reward(0.0)
    assert not learner.cases
    assert 3 not in learner.cases
    assert learner.cases.get(3) is None
