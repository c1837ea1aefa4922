"""Every event in the life of a case, in any order, against a plain book of what happened."""

import tempfile
from collections import Counter
from pathlib import Path

import pytest
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
from askwise.simulation.environments import Population
from case_book import ACTED, CANCELLED, DEFAULTED, LOOKING, REWARDED, UNITS, Book, Entry, counted
from inside import rounds_of
from random_problems import busy_models, is_drawn_right

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
