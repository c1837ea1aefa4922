"""Cases from real life: every event in any order, against a plain book of what happened."""

import itertools
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

import askwise as aw
import reference
from askwise.errors import CaseError
from askwise.learners.cases import Case
from askwise.simulation.environments import Population
from inside import path_policy, rounds_of, set_policy
from planning.test_given_panels_failures import busy_models, is_drawn_right

UNITS = 2**30
"""Of a reward."""

LOOKING, ACTED, DEFAULTED, REWARDED, CANCELLED = [
    "looking",
    "acted",
    "defaulted",
    "rewarded",
    "cancelled",
]


@dataclass
class Entry:
    """A case as a plain person would note it down."""

    case: Case | None
    given: dict
    on_file: dict
    known: dict
    steps: list = field(default_factory=list)
    """(what was known before, the name of what was bought, what was known then)"""
    phase: str = LOOKING
    has_acted: bool = False
    action: str | None = None
    units: int | None = None
    """Its reward."""


class Book:
    """All cases, and what must have been counted of them."""

    def __init__(self, problem, *, at_once, counts_looks=True, counts_abandoned=True):
        self.problem = problem
        self.at_once, self.counts_looks, self.counts_abandoned = (
            at_once,
            counts_looks,
            counts_abandoned,
        )
        self.entries = {}
        contexts = np.prod([len(o.outcomes) for o in problem.observations if o.given])
        self.is_given = contexts > 1

    def expected(self):
        """Every counter, from nothing but the entries."""
        acted, earned, steps, visits, sets = (Counter() for _ in range(5))
        for e in self.entries.values():
            begun = frozenset((e.given | e.on_file).items())
            if e.units is not None:
                acted[frozenset(e.known.items()), e.action] += 1
                earned[frozenset(e.known.items()), e.action] += e.units
            abandoned = e.phase == CANCELLED and not e.has_acted
            if not self.counts_looks:
                continue
            if not self.at_once:
                if e.has_acted or (abandoned and self.counts_abandoned):
                    steps.update(e.steps)
                    if self.is_given and not e.on_file:
                        visits[begun] += 1
            elif e.has_acted and e.on_file:  # in the order of declaration, however it was seen
                before = begun
                for o in self.problem.observations:
                    if o.name in e.known and o.name not in e.given | e.on_file:
                        after = before | {(o.name, e.known[o.name])}
                        steps[before, o.name, after] += 1
                        before = after
            elif e.has_acted:
                bought = [(n, x) for n, x in e.known.items() if n not in e.given]
                for k in range(len(bought) + 1):
                    for part in itertools.combinations(bought, k):
                        visits[begun | set(part)] += 1
                        sets[begun, frozenset(n for n, _ in part)] += 1
        cases = sum(e.has_acted for e in self.entries.values())
        earned = Counter({key: units for key, units in earned.items() if units})
        return {
            "cases": cases, "acted": acted, "earned": earned,
            "steps": steps, "visits": visits, "sets": sets,
        }  # fmt: skip


def counted(statistics, states):
    """The counters of a learner as the book has them."""
    lattice = statistics.lattice
    row_states = statistics.states.tolist()
    found = {name: {} for name in ("acted", "earned", "steps", "visits", "sets")}
    arrays = dict(statistics.arrays())
    for name, array in (("acted", arrays["action_counts"]), ("earned", arrays["reward_sums"])):
        for row, a in np.argwhere(array).tolist():
            key = states[row_states[row]], lattice.problem.actions[a]
            found[name][key] = int(array[row, a])
    for row, slot in np.argwhere(arrays["transitions"]).tolist():
        state = row_states[row]
        name = lattice.observations[lattice.domain(state)[slot]].name
        after = states[state]
        before = frozenset(pair for pair in after if pair[0] != name)
        found["steps"][before, name, after] = int(arrays["transitions"][row, slot])
    for [row] in np.argwhere(arrays["visits"]).tolist():
        found["visits"][states[row_states[row]]] = int(arrays["visits"][row])
    for [context_subset] in np.argwhere(arrays["subset_visits"]).tolist():
        subset, context = divmod(context_subset, lattice.contexts)
        names = frozenset(lattice.observations[i].name for i in lattice.members(subset))
        found["sets"][states[context], names] = int(arrays["subset_visits"][context_subset])
    return {"cases": statistics.cases} | found


MODELS = [model for model in busy_models(11, 8, most=80) if is_drawn_right(model)][:5]
numbers = st.integers(0, 2**20)
rewards = st.sampled_from([0.0, 1.0, 0.5]) | st.floats(0, 1)


class Machine(RuleBasedStateMachine):
    """Many open cases of one learner. A subclass says which learner."""

    at_once = False
    counts_looks = True
    counts_abandoned = True
    experience = 400
    """Cases before the first."""
    happened: Counter
    saved: dict

    def __init_subclass__(cls):
        cls.happened, cls.saved = Counter(), {}

    def make(self, problem):
        raise NotImplementedError

    def note(self, *events):
        type(self).happened.update(events)

    @initialize(which=st.integers(0, len(MODELS) - 1))
    def begin(self, which):
        self.problem = MODELS[which].problem
        self.learner = self.experienced(which)
        lattice = self.learner.statistics.lattice
        self.states = [frozenset(lattice.state(s).items()) for s in range(lattice.size)]
        self.book = Book(
            self.problem,
            at_once=self.at_once,
            counts_looks=self.counts_looks,
            counts_abandoned=self.counts_abandoned,
        )
        self.by_name = {o.name: o for o in self.problem.observations}
        self.before = counted(self.learner.statistics, self.states)

    def experienced(self, which):
        """A learner that has seen enough to want something; made once, then loaded."""
        if which not in self.saved:
            learner = self.make(self.problem)
            aw.simulate(learner, Population(MODELS[which]), steps=self.experience, rng=which)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "learner.askwise"
                learner.save(path)
                self.saved[which] = path.read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "learner.askwise"
            path.write_bytes(self.saved[which])
            return aw.load(path)

    # --- choosing ---------------------------------------------------------------------------------

    def some(self, pick, *phases):
        """One of the cases in these phases that is still at hand."""
        entries = [
            e for e in self.book.entries.values() if e.phase in phases and e.case is not None
        ]
        return entries[pick % len(entries)] if entries else None

    def outcome(self, name, pick):
        outcomes = self.by_name[name].outcomes
        return outcomes[pick % len(outcomes)]

    # --- what happens -----------------------------------------------------------------------------

    @rule(
        several=st.lists(st.lists(numbers, min_size=8, max_size=8), min_size=1, max_size=3),
        on_file=st.integers(0, 2),
    )
    def open(self, several, on_file):
        for picks in several:
            self.open_one(picks, on_file)

    def open_one(self, picks, on_file):
        given = {
            o.name: self.outcome(o.name, picks[k])
            for k, o in enumerate(self.problem.observations)
            if o.given
        }
        names = [o.name for o in self.problem.observations if not o.given]
        if on_file == 0 or (self.at_once and self.book.is_given):
            names = []  # see test_what_was_on_file_is_no_fair_sample
        kept = [n for k, n in enumerate(names) if picks[k] % 3 == 0][: self.problem.m]
        filed = {n: self.outcome(n, picks[-1 - k] // 3) for k, n in enumerate(kept)}
        case = self.learner.open(given | filed)
        entry = Entry(case, given, filed, given | filed)
        assert case.id not in self.book.entries
        self.book.entries[case.id] = entry
        self.note("open", *["on file"] * bool(filed))
        self.look_after(entry)

    def look_after(self, entry):
        if not entry.case.wanted:
            entry.phase, entry.has_acted, entry.action = ACTED, True, entry.case.action

    @rule(pick=numbers, values=st.lists(numbers, min_size=8, max_size=8), part=st.booleans())
    def observe(self, pick, values, part):
        entry = self.some(pick, LOOKING)
        if entry is None:
            return
        names = list(entry.case.wanted)
        if pick % 2:
            names.reverse()
        shown = {n: self.outcome(n, values[k]) for k, n in enumerate(names)}
        if part:
            shown = dict([next(iter(shown.items()))])
        if len(shown) == 1 and None in shown.values() and values[0] % 2:
            entry.case.unavailable(next(iter(shown)))
        else:
            entry.case.observe(shown)
        self.note("observe", *["failed"] * (None in shown.values()))
        for name, value in shown.items():
            before = frozenset(entry.known.items())
            entry.known = entry.known | {name: value}
            entry.steps.append((before, name, frozenset(entry.known.items())))
        self.look_after(entry)

    @rule(pick=numbers, reward=rewards, replaces=st.booleans())
    def reward(self, pick, reward, replaces):
        entry = self.some(pick, ACTED, DEFAULTED)
        if entry is not None:
            entry.case.reward(reward, replaces=replaces)
            self.note("reward" if entry.phase == ACTED else "late reward")
            entry.phase, entry.units = REWARDED, round(reward * UNITS)

    @rule(pick=numbers, reward=rewards)
    def default(self, pick, reward):
        entry = self.some(pick, *([DEFAULTED] if pick % 4 == 0 else [ACTED, DEFAULTED, REWARDED]))
        if entry is not None:
            entry.case.reward_by_default(reward)
            self.note("default" if entry.phase == ACTED else f"default of a {entry.phase}")
            if entry.phase != REWARDED:
                entry.phase, entry.units = DEFAULTED, round(reward * UNITS)

    @rule(pick=numbers, reward=rewards)
    def correct(self, pick, reward):
        entry = self.some(pick, REWARDED)
        if entry is not None:
            entry.case.reward(reward, replaces=True)
            self.note("correction")
            entry.units = round(reward * UNITS)

    @rule(pick=numbers)
    def cancel(self, pick):
        entry = self.some(pick, LOOKING, ACTED)
        if entry is not None:
            entry.case.cancel()
            self.note(f"cancelled while {entry.phase}")
            entry.phase = CANCELLED

    @rule()
    def replan(self):
        self.learner.replan()

    @rule(luck=st.integers(0, 4))
    def save_and_load(self, luck):
        if luck > 0:
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "learner.askwise"
            self.learner.save(path)
            self.learner = aw.load(path)
        for number, entry in self.book.entries.items():
            before, entry.case = entry.case, self.learner.cases.get(number)
            if entry.case is not None:
                self.note("loaded")
                assert entry.case.wanted == before.wanted

    # --- what is refused --------------------------------------------------------------------------

    @precondition(lambda self: self.book.entries)
    @rule(pick=numbers, which=numbers)
    def refuse(self, pick, which):
        entry = self.some(pick, LOOKING, ACTED, DEFAULTED, REWARDED, CANCELLED)
        if entry is None:
            return
        attempts = list(self.refusals(entry))
        attempt, *what = attempts[which % len(attempts)]
        before = self.learner.statistics.copy()
        with pytest.raises(CaseError):
            attempt(*what)
        self.note("refused")
        assert self.learner.statistics == before

    def refusals(self, entry):
        """Whatever a case in its phase cannot take."""
        case, given = entry.case, entry.given
        unwanted = [n for n in self.by_name if n not in case.wanted]
        for shown in ({"nobody": 1}, {}, [("o0", "v0")]):
            yield case.observe, shown
        yield case.unavailable, "nobody"
        for name in unwanted:
            yield case.observe, {name: self.by_name[name].values[0]}
            yield case.unavailable, name
        for name in case.wanted:
            fine = {name: self.by_name[name].values[0]}
            for value in ("no such value", True, 1.0, 0):
                yield case.observe, {name: value}
            yield case.observe, fine | {"nobody": 1}
            yield case.observe, fine | {(unwanted or ["nobody"])[0]: "v0"}
            if self.by_name[name].fails is None:
                yield case.observe, {name: None}
                yield case.unavailable, name
        for reward in (float("nan"), -0.1, 1.1, float("inf"), "1", None, True):
            yield case.reward, reward
            yield case.reward_by_default, reward
            yield lambda r: case.reward(r, replaces=True), reward
        if entry.phase in (LOOKING, CANCELLED):
            yield case.reward, 1.0
            yield case.reward_by_default, 1.0
            yield lambda r: case.reward(r, replaces=True), 1.0
        if entry.phase == REWARDED:
            yield case.reward, 1.0
        if entry.phase in (DEFAULTED, REWARDED, CANCELLED):
            yield (case.cancel,)
        yield self.learner.open, given | {"nobody": 1}
        buyable = [o for o in self.problem.observations if not o.given]
        yield self.learner.open, given | {buyable[0].name: "no such value"}
        if len(buyable) > self.problem.m:
            yield self.learner.open, given | {o.name: o.values[0] for o in buyable}
        for name in given:
            yield self.learner.open, {n: x for n, x in given.items() if n != name}

    # --- what must hold ---------------------------------------------------------------------------

    @invariant()
    def learner_and_book_agree(self):
        if not hasattr(self, "book"):
            return
        assert counted(self.learner.statistics, self.states) == self.expected()
        phases = {number: e.phase for number, e in self.book.entries.items()}
        waiting = {n for n, phase in phases.items() if phase in (LOOKING, ACTED, DEFAULTED)}
        assert set(self.learner.cases) == waiting
        assert set(rounds_of(self.learner).looking) == {n for n in waiting if phases[n] == LOOKING}
        for e in self.book.entries.values():
            if e.case is not None:
                self.check(e.case, e)

    def expected(self):
        """What had been counted before, and what the book says."""
        added = self.book.expected()
        total = {"cases": self.before["cases"] + added["cases"]}
        for name in ("acted", "earned", "steps", "visits", "sets"):
            total[name] = Counter(self.before[name]) + added[name]
        return total

    def check(self, case, e):
        assert case.state == e.known
        assert bool(case.wanted) == (e.phase == LOOKING)
        assert not set(case.wanted) & set(e.known)
        assert len(e.known) - len(e.given) + len(case.wanted) <= self.problem.m
        assert case.action == e.action
        assert (case.earned is None) == (e.units is None)
        assert case.earned is None or round(case.earned * UNITS) == e.units
        assert case.is_rewarded == (e.phase == REWARDED)
        assert case.is_by_default == (e.phase == DEFAULTED)
        assert case.is_cancelled == (e.phase == CANCELLED)
        expected = reference.spent(self.problem, e.known, e.on_file)
        assert abs(case.cost - expected) <= 1e-12 * self.problem.reward_value


class OneByOne(Machine):
    def make(self, problem):
        return aw.SeqOOS(problem)


class OneByOneSparse(Machine):
    def make(self, problem):
        return aw.SeqOOS(problem, storage="sparse", clock="exact")


class AtOnce(Machine):
    at_once = True

    def make(self, problem):
        return aw.SimOOS(problem)


class AtOnceSparse(Machine):
    at_once = True

    def make(self, problem):
        return aw.SimOOS(problem, storage="sparse", clock="exact")


class Joint(Machine):
    experience = 30
    counts_abandoned = False

    def make(self, problem):
        return aw.Learner(problem, model="joint", rng=1)


class JointAtOnce(Machine):
    experience = 30
    at_once = True

    def make(self, problem):
        return aw.Learner(problem, model="joint", acquisition="simultaneous", rng=1)


class Additive(Machine):
    experience = 30
    counts_looks = False

    def make(self, problem):
        return aw.Learner(problem, model="additive", rng=1)


class AdditiveAtOnce(Machine):
    experience = 30
    at_once = True
    counts_looks = False

    def make(self, problem):
        return aw.Learner(problem, model="additive", acquisition="simultaneous", rng=1)


MACHINES = [
    OneByOne, OneByOneSparse, AtOnce, AtOnceSparse, Joint, JointAtOnce, Additive, AdditiveAtOnce,
]  # fmt: skip
SETTINGS = settings(
    max_examples=15, stateful_step_count=40, phases=[Phase.generate], report_multiple_bugs=False
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
        a_long_day(machine, seed, 150)
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


# --- what was counted does not depend on the order ------------------------------------------------


class Fate:
    """What becomes of one case, in a tidy way and in an untidy one."""

    def __init__(self, rng, problem, full, *, on_file):
        names = [o.name for o in problem.observations if not o.given]
        self.values = {
            o.name: o.outcomes[x] for o, x in zip(problem.observations, full, strict=True)
        }
        self.known = {o.name: self.values[o.name] for o in problem.observations if o.given}
        if on_file and rng.random() < 0.4:
            kept = rng.permutation(names)[: rng.integers(problem.m + 1)].tolist()
            self.known |= {name: self.values[name] for name in kept}
        self.end = str(
            rng.choice(["reward", "default", "acted", "looking"], p=[0.6, 0.1, 0.1, 0.2])
        )
        self.looks = int(rng.integers(0, 3))
        """So many before it is cancelled while looking, if it is."""
        self.reward = float(rng.random())

    def tidily(self, case):
        looks = 0
        while case.wanted and not (self.end == "looking" and looks == self.looks):
            names = case.wanted[:1] if self.end == "looking" else case.wanted
            case.observe({name: self.values[name] for name in names})
            looks += 1
        if self.end == "default":
            case.reward_by_default(self.reward)
        elif self.end == "reward":
            case.reward(self.reward)
        else:
            case.cancel()

    def untidily(self, case, rng, *, shuffle):
        """The same in the end, event by event."""
        looks = 0
        while case.wanted and not (self.end == "looking" and looks == self.looks):
            names = list(case.wanted)
            if shuffle and self.end != "looking":
                rng.shuffle(names)
            if self.end == "looking" or rng.random() < 0.5:
                names = names[:1]
            if names == [case.wanted[0]] and self.values[names[0]] is None:
                case.unavailable(names[0])
            else:
                case.observe({name: self.values[name] for name in names})
            looks += 1
            yield
        if self.end in ("acted", "looking"):
            case.cancel()
            return
        for _ in range(rng.integers(0, 3)):
            case.reward_by_default(float(rng.random()))
            yield
        if self.end == "default":
            case.reward_by_default(self.reward)
            return
        for k in range(rng.integers(0, 3)):
            case.reward(float(rng.random()), replaces=k > 0)
            yield
        case.reward(self.reward, replaces=True)
        yield
        case.reward_by_default(float(rng.random()))


def in_any_order(events, rng):
    """Let the cases go on one event at a time, whichever comes next."""
    events = list(events)
    while events:
        k = int(rng.integers(len(events)))
        try:
            next(events[k])
        except StopIteration:
            events.pop(k)


def compare_orders(make, seed, *, on_file=True, shuffle=True):
    model = busy_models(20 + seed, 1, most=80)[0]
    rng = np.random.default_rng([12, seed])
    tidy, untidy = make(model.problem), make(model.problem)
    for wave in range(6):  # the next wave opens under what was learned from the last
        full = model.sample(rng, 8 * (wave + 1)).tolist()
        fates = [Fate(rng, model.problem, one, on_file=on_file) for one in full]
        left = [tidy.open(fate.known) for fate in fates]
        right = [untidy.open(fate.known) for fate in fates]
        assert [case.wanted for case in left] == [case.wanted for case in right]
        for fate, case in zip(fates, left, strict=True):
            fate.tidily(case)
        pairs = zip(fates, right, strict=True)
        in_any_order((f.untidily(case, rng, shuffle=shuffle) for f, case in pairs), rng)
        assert [(c.state, c.action) for c in left] == [(c.state, c.action) for c in right]
        assert tidy.statistics == untidy.statistics
        one, other = tidy.statistics.dense(), untidy.statistics.dense()
        for (name, mine), (_, theirs) in zip(one.arrays(), other.arrays(), strict=True):
            assert mine.tobytes() == theirs.tobytes(), name
        assert set(tidy.cases) == set(untidy.cases)


MAKERS = [
    machine.make for machine in (OneByOne, OneByOneSparse, AtOnce, AtOnceSparse, Joint, Additive)
]
IDS = ["SeqOOS", "SeqOOS sparse", "SimOOS", "SimOOS sparse", "joint", "additive"]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("make", MAKERS, ids=IDS)
def test_any_order_of_the_same_events_gives_the_same_bits(make, seed):
    compare_orders(lambda problem: make(None, problem), seed, shuffle=False)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", MAKERS[2:4], ids=IDS[2:4])
def test_the_order_in_which_a_set_is_seen_does_not_matter(make, seed):
    compare_orders(lambda problem: make(None, problem), seed, on_file=False)


@pytest.mark.parametrize("make", MAKERS[2:4], ids=IDS[2:4])
def test_the_order_in_which_a_set_is_seen_does_not_matter_beside_a_file(make):
    for seed in range(8):
        compare_orders(lambda problem: make(None, problem), seed)


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
    following = np.full(lattice.size, -1, np.int16)
    for s in range(lattice.size):
        rest = [i for i in range(lattice.buyable) if len(lattice.children(s, i))]
        if rest and rng.random() < 0.9:
            following[s] = rng.choice(rest)
    actions = np.zeros(lattice.size, np.int16)
    yield path_policy(lattice, following, actions, np.zeros(lattice.size))
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
