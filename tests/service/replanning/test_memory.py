"""A project that forgets remembers just what the library's learner would, to the bit."""

import secrets

import msgspec
import numpy as np
import pytest

import askwise as aw
from askwise.errors import LedgerError
from askwise.learners.cases import Case
from askwise.learners.learner import rounds_of
from askwise.service.api.messages import Observing, Opening, Rewarding
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.decisions.commit_groups import Operation
from askwise.service.decisions.replay import verify
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.operations.export import export_project, import_project
from askwise.service.replanning.counter_rows import statistics_of
from askwise.service.replanning.memory import Blocks, Memory, memory_of
from askwise.service.replanning.policy_versions import PolicyCache, learner_of
from askwise.service.replanning.replanner import Replanner
from serving import (  # noqa: F401 (fixtures)
    create,
    database_fixture,
    ledger_fixture,
    postgres_fixture,
)

PROBLEM = aw.Problem(
    observations=[
        aw.Observation("mammogram", values=["low", "high"], cost=1.0),
        aw.Observation("mri", values=["neg", "pos"], cost=3.0),
    ],
    actions=["wait", "treat"],
    reward_value=20.0,
)
WINDOW, DETECT = {"window": 80}, {"window": 400, "detect": True}


class Twin:
    """The library's learner: it is told all that happens in the service, as it happens."""

    def __init__(self, project, policy_cache):
        self.learner = learner_of(project)
        self.rounds = rounds_of(self.learner)
        self._versions, self._project = policy_cache, project.id
        self._tag = CaseDecider(project, None).tag
        self.cases = {}

    def open(self, answer):
        planned = self._versions.version(self._project, answer["policy_version"])
        self.rounds._end_blocks()
        number = answer["case"]
        self.cases[number] = Case(number, planned.policy, self.rounds, self._tag(number))
        self.rounds.now.count_opened(1)


class Clinic:
    """Patients whom after a while nothing helps any more; results come late."""

    def __init__(self, ledger, name="seq-oos", **options):
        self.ledger, self.rng = ledger, np.random.default_rng(7)
        self.policy_cache = PolicyCache(ledger)
        self.writer = Writer(ledger, self.policy_cache)
        assert create(self.writer, "clinic", PROBLEM, name, **options).status == 201
        self.project = ledger.project("clinic")
        self.twin = Twin(self.project, self.policy_cache)
        self.replanner = Replanner(ledger)
        self.fence = ledger.take_lease(self.replanner._holder).fence
        self.awaited, self.all_helps = [], False

    def ask(self, jobs):
        jobs = [Operation("clinic", secrets.token_hex(8), *job) for job in jobs]
        results = self.writer.commit(jobs)
        assert all(r.status < 300 for r in results), results
        return [msgspec.json.decode(r.body) for r in results]

    def treat(self, ill, changed=False):
        answers = self.ask([(0, Opening())] * len(ill))
        for answer in answers:
            self.twin.open(answer)
        while answers := [a for a in answers if a["wanted"]]:
            jobs = []
            for a in answers:
                seen = {"mammogram": "high", "mri": "pos"} if ill[a["case"] % len(ill)] else {}
                seen = {"mammogram": "low", "mri": "neg"} | seen
                values = {name: seen[name] for name in a["wanted"]}
                self.twin.cases[a["case"]].observe(values, paid=dict.fromkeys(values, 0.5))
                jobs.append((a["case"], Observing(values, dict.fromkeys(values, 0.5))))
            answers = self.ask(jobs)
        for number in list(self.twin.cases)[-len(ill) :]:
            right = (self.twin.cases[number].action == "treat") == ill[number % len(ill)]
            self.awaited.append((number, float((right or self.all_helps) and not changed)))

    def reward(self, keeps, corrects):
        while len(self.awaited) > keeps:
            number, reward = self.awaited.pop(0)
            case = self.twin.cases[number]
            if number % 3 == 0:
                self.ask([(number, Rewarding(0.25, default=True))])
                case.reward_by_default(0.25)
            self.ask([(number, Rewarding(reward))])
            case.reward(reward)
        if corrects and len(self.twin.cases) > keeps:
            number = int(self.rng.integers(1, len(self.twin.cases) - keeps + 1))
            self.ask([(number, Rewarding(0.5, replaces=True))])
            self.twin.cases[number].reward(0.5, replaces=True)

    def run(self, groups, *, changes_after=99, corrects=False):
        for k in range(groups):
            ill = (self.rng.random(int(self.rng.integers(1, 9))) < 0.4).tolist()
            self.treat(ill, k >= changes_after)
            self.reward(5, corrects)
            if k % 4 == 0:
                self.plan()

    def plan(self):
        assert self.replanner.plan(self.ledger.project("clinic"), self.fence)

    def remembered(self):
        now = self.ledger.snapshot(self.project.id)
        learner = learner_of(self.project)
        return memory_of(now), statistics_of(learner, Blocks.of(learner).remembered(now))


@pytest.mark.parametrize(
    ("database", "name", "more"),
    [
        ("sqlite", "seq-oos", {}),
        ("sqlite", "sim-oos", {}),
        ("sqlite", "learner", {}),
        ("sqlite", "learner", {"model": "additive"}),
        ("sqlite", "ncc-ucrl2", {}),  # it forgets rewards only
        ("postgresql", "learner", {}),
    ],
    indirect=["database"],
)
def test_a_window_forgets_what_the_library_forgets(ledger, name, more):
    clinic = Clinic(ledger, name, **WINDOW, **more)
    clinic.run(60, corrects=True)
    clinic.twin.rounds._end_blocks()
    clinic.plan()
    memory, remembered = clinic.remembered()
    forgetting = clinic.twin.rounds.forgetting
    assert memory == Memory(forgetting.number, forgetting.first)
    assert memory.first > 5
    assert remembered == clinic.twin.learner.statistics
    version = clinic.policy_cache.version(clinic.project.id, ledger.project("clinic").version)
    assert version.learner.statistics == remembered  # what was planned with
    assert verify(ledger, "clinic").differences == []
    kinds = {row.kind for row in ledger.snapshot(clinic.project.id).counters if "@" in row.kind}
    blocks = {int(kind.partition("@")[2]) for kind in kinds}
    assert blocks <= set(range(memory.first, memory.examined + 1))


@pytest.mark.parametrize(
    ("database", "options"),
    [("sqlite", DETECT), ("sqlite", {"detect": True}), ("postgresql", {"detect": True})],
    indirect=["database"],
)
def test_a_change_that_the_library_finds_is_found(ledger, options, monkeypatch, capfd):
    monkeypatch.setattr("askwise.counting.forgetting.BLOCKS", (20, 20))
    clinic = Clinic(ledger, **options)
    clinic.all_helps = True  # so that one action is taken often enough to see the change
    clinic.run(110, changes_after=60)
    clinic.twin.rounds._end_blocks()
    clinic.plan()
    memory, remembered = clinic.remembered()
    forgetting = clinic.twin.rounds.forgetting
    assert memory == Memory(forgetting.number, forgetting.first)
    assert memory.first > 5
    assert remembered == clinic.twin.learner.statistics
    assert "a change was found" in capfd.readouterr().err
    assert sum(ledger.counter_values(clinic.project.id, "drift").values()) >= 1
    assert verify(ledger, "clinic").differences == []
    kept = {r.kind.partition("@")[2] for r in ledger.snapshot(clinic.project.id).counters}
    assert len(kept) <= 10 or "window" in options  # old blocks are kept together


def test_what_was_forgotten_stays_so_where_it_is_imported(ledger, tmp_path):
    clinic = Clinic(ledger, **WINDOW)
    clinic.run(30, corrects=True)
    clinic.plan()
    lines = list(export_project(ledger, "clinic"))
    other = open_ledger(str(tmp_path / "other.db"))
    import_project(other, lines)
    assert verify(other, "clinic").differences == []
    mine, theirs = (
        [row for row in one.snapshot(one.project("clinic").id).counters if row.amount]
        for one in (ledger, other)
    )
    assert mine == theirs
    bad = [line.replace(b'"forget 3"', b'"forget-3"') for line in lines]
    third = open_ledger(str(tmp_path / "third.db"))
    with pytest.raises(LedgerError):
        import_project(third, bad)
    assert third.projects() == []
    for one in (other, third):
        one.close()


def test_a_project_that_began_with_a_learner_forgets_that_with_its_first_block(ledger):
    from askwise.service.decisions.creation import creation_from_learner

    learner = aw.SeqOOS(PROBLEM, window=80, rng=1)
    for _ in range(100):
        case = learner.open()
        while case.wanted:
            case.observe({name: {"mammogram": "low", "mri": "neg"}[name] for name in case.wanted})
        case.reward(0.5)
    knew = int(learner.statistics.action_counts.sum())
    assert knew > 0
    cache = PolicyCache(ledger)
    writer = Writer(ledger, cache)
    writer.commit([creation_from_learner("key", "clinic", learner)[1]])
    replanner = Replanner(ledger)
    fence = ledger.take_lease(replanner._holder).fence
    for cases, is_known in ((70, True), (30, False)):
        jobs = [Operation("clinic", secrets.token_hex(8), 0, Opening())] * 1
        for _ in range(cases):
            writer.commit([job._replace(key=secrets.token_hex(8)) for job in jobs])
        assert replanner.plan(ledger.project("clinic"), fence)
        project = ledger.project("clinic")
        planned = cache.version(project.id, project.version)
        rewards = int(planned.learner.statistics.action_counts.sum())
        assert rewards == (knew if is_known else 0)


def test_two_replanners_end_a_block_once(ledger):
    clinic = Clinic(ledger, **WINDOW)
    clinic.run(3)
    project = ledger.project("clinic")
    late = Replanner(ledger)
    before = ledger.snapshot(project.id)
    clinic.run(8)
    clinic.plan()
    first = clinic.policy_cache.version(project.id, 1).learner
    events = ledger.project("clinic").seq
    assert not late._end_blocks(project, before, first, clinic.fence)  # it looked too early
    now = ledger.snapshot(project.id)
    clinic.treat([True] * 12)
    assert not late._end_blocks(project, ledger.snapshot(project.id), first, clinic.fence - 1)
    assert ledger.project("clinic").seq > events
    kinds = [e.kind for e in ledger.events(project.id, now.seq, 1000)]
    assert "forget" not in kinds
    assert verify(ledger, "clinic").differences == []
