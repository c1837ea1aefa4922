"""Given observations, panels, failures, rules: plans that cost what changed equal plans in full."""

from collections import Counter

import numpy as np
import pytest

import askwise as aw
from askwise.learners.optimistic import OptimisticInFull
from askwise.planning.incremental import cheapest_action
from askwise.states import Lattice
from inside import full_plan, now_of, rounds_of, strategy_of
from random_problems import busy_models, features_of, ruled_models

KINDS = [aw.SimOOS, aw.SeqOOS]


def assert_same_plan(policy, full, starts):
    """The same choices and values wherever cases from these starts can come."""
    lattice = full.lattice
    at_once = policy.acquisition == "simultaneous"
    if at_once:
        assert policy.table.sets.tolist() == full.table.sets.tolist()
        for g in range(lattice.contexts):
            assert policy.table.value_from(g) == full.table.value_from(g)
    waiting = list(starts)
    while waiting:
        state = waiting.pop()
        looks = policy.looks(state)
        assert looks == full.looks(state)
        if not looks:
            assert policy.act(state) == full.act(state)
        if not at_once:
            never_came = policy.table.row_of is not None and policy.table.row(state) == 0
            worth = lattice.most_earned if never_came else policy.values[policy.table.row(state)]
            assert worth == full.values[state]
        reached = [state]
        for i in looks:
            reached = [c for s in reached for c in lattice.children(s, i)]
        waiting.extend(reached if looks else [])


class Desk:
    """Somebody who does everything that can be done to cases, in any order."""

    def __init__(self, learner, model, rng, *, on_file=True, cancels=True):
        self.learner, self.model, self.rng = learner, model, rng
        self.on_file, self.cancels = on_file, cancels
        self.full, self.looking, self.acted, self.late, self.done = {}, [], [], [], []
        self.happened = Counter()

    def open(self, full):
        problem, rng = self.learner.problem, self.rng
        values = {o.name: o.outcomes[x] for o, x in zip(problem.observations, full, strict=True)}
        known = {o.name: values[o.name] for o in problem.observations if o.given}
        if self.on_file and rng.random() < 0.25:
            names = [o.name for o in problem.observations if not o.given]
            for name in rng.permutation(names)[: rng.integers(problem.m + 1)].tolist():
                known[name] = values[name]
                self.happened["on file"] += 1
        case = self.learner.open(known)
        self.full[case.id] = values
        (self.looking if case.wanted else self.acted).append(case)
        return case

    def look(self, case):
        """Sometimes at a part of what is wanted only."""
        names = list(case.wanted)
        if self.rng.random() < 0.3:
            names = names[: self.rng.integers(1, len(names) + 1)]
        case.observe({name: self.full[case.id][name] for name in names})
        if not case.wanted:
            self.looking.remove(case)
            self.acted.append(case)

    def earned(self, case):
        places = tuple(
            o.outcomes.index(self.full[case.id][o.name]) for o in self.model.problem.observations
        )
        mean = self.model.reward[places][case.action_index]
        return float(self.rng.random() < mean) if self.rng.random() < 0.8 else self.rng.random()

    def take(self, cases):
        return cases.pop(int(self.rng.integers(len(cases))))

    def something(self):
        rng = self.rng
        what = rng.choice(["look", "reward", "default", "late", "correct", "cancel"],
                          p=[0.4, 0.4, 0.06, 0.06, 0.06, 0.02])  # fmt: skip
        cancelled = rng.choice(["looking", "acted"])
        pool = {
            "look": self.looking,
            "reward": self.acted,
            "default": self.acted,
            "late": self.late,
            "correct": self.done,
            "cancel": getattr(self, cancelled),
        }[what]
        if not pool or (what == "cancel" and not self.cancels):
            return
        self.happened[what] += 1
        if what == "look":
            self.look(pool[rng.integers(len(pool))])
            return
        case = self.take(pool)
        if what == "cancel":
            case.cancel()
        elif what == "default":
            case.reward_by_default(float(rng.random()))
            self.late.append(case)
        else:
            case.reward(self.earned(case), replaces=what == "correct")
            self.done = [*self.done[-20:], case]


def rounds_compared(kind, clock, storage, *, on_file, models=None):
    """Long runs in which anything happens; at every round, the plan against the full plan."""
    compared, happened, grown = 0, Counter(), 0
    for seed, model in enumerate(busy_models(3, 6) if models is None else models):
        rng = np.random.default_rng([3, seed])
        learner = kind(model.problem, clock=clock, storage=storage)
        lattice, first = learner.statistics.lattice, learner.statistics.capacity
        desk = Desk(learner, model, rng, on_file=on_file(lattice))
        for full in model.sample(rng, 200).tolist():
            if rounds_of(learner).is_over and now_of(learner).round:
                expected, starts = full_plan(learner), [*range(lattice.contexts)]
                if clock == "doubling":  # the exact one holds where cases come that begin blank
                    starts += rng.integers(0, lattice.size, 12).tolist()
                assert_same_plan(learner.replan(), expected, starts)
                compared += 1
            desk.open(full)
            for _ in range(rng.integers(2, 7)):
                desk.something()
        grown += learner.statistics.capacity > first
        happened += desk.happened
    assert min(happened.values()) >= 20, happened
    assert len(happened) == 7
    assert grown >= 4 or storage == "dense"
    return compared


@pytest.fixture
def few_rows(monkeypatch):
    """Sparse rows must grow soon."""
    monkeypatch.setattr("askwise.counting.row_counters.FIRST_ROWS", 8)


CLOCKS, STORAGES = ["doubling", "exact"], ["dense", "sparse"]


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize(
    ("kind", "storage"),
    [
        (aw.SimOOS, "dense"),
        (aw.SimOOS, "sparse"),
        (aw.SeqOOS, "dense"),
        (aw.SeqOOS, "sparse"),
    ],
)
def test_every_plan_equals_the_full_plan_whatever_happens(kind, storage, clock, few_rows):
    def on_file(lattice):
        return kind is aw.SeqOOS or lattice.contexts == 1

    assert rounds_compared(kind, clock, storage, on_file=on_file) >= 250


@pytest.mark.parametrize("clock", CLOCKS)
def test_every_plan_of_sets_in_sparse_rows_without_refunds(clock, few_rows):
    def on_file(lattice):
        return lattice.contexts == 1

    models = [m for m in busy_models(3, 20) if "refunded" not in features_of(m.problem)]
    assert rounds_compared(aw.SimOOS, clock, "sparse", on_file=on_file, models=models[:6]) >= 250


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clock", CLOCKS)
def test_every_plan_of_sets_equals_the_full_plan_with_all_on_file(clock, storage, few_rows):
    assert rounds_compared(aw.SimOOS, clock, storage, on_file=lambda lattice: True) >= 250


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("kind", [aw.SimOOS, aw.SeqOOS])
def test_every_plan_equals_the_full_plan_with_rules(kind, storage, clock, few_rows):
    def on_file(lattice):
        return kind is aw.SeqOOS or lattice.contexts == 1

    models = ruled_models(3, 6)
    assert any(Lattice(m.problem).has_requirements for m in models)
    assert any(Lattice(m.problem).action_offsets is not None for m in models)
    assert all(cheapest_action(Lattice(m.problem)) is not None for m in models)
    assert rounds_compared(kind, clock, storage, on_file=on_file, models=models) >= 250


def test_where_a_look_may_pay_by_what_it_allows_plans_are_made_in_full():
    look = aw.Observation("o", values=["a", "b"], cost=0.01)
    actions = [aw.Action("review", cost=0.5), aw.Action("approve", requires=["o"])]
    problem = aw.Problem(observations=[look], actions=actions)
    for kind in (aw.SimOOS, aw.SeqOOS):
        learner = kind(problem)
        assert isinstance(strategy_of(learner), OptimisticInFull)
        case = learner.open()
        assert case.wanted == ("o",)
        case.observe({"o": "a"})
        assert case.action == "approve"
        with pytest.raises(aw.AskwiseError, match="cannot reckon"):
            kind(problem, storage="sparse")
