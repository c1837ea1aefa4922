"""Old policies are thinned, cases are erased; what was counted stays, and can be worked out."""

import secrets
import time

import pytest
from typer.testing import CliRunner

import askwise as aw
from askwise.cli import app
from askwise.errors import LedgerDataError, LedgerError
from askwise.service.api.administration import Repricing
from askwise.service.api.messages import Acting, Cancelling, Observing, Opening, Rewarding
from askwise.service.api.refusals import Refusal
from askwise.service.decisions.administration import repricing
from askwise.service.decisions.erasing import erasure
from askwise.service.decisions.replay import verify
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.ledger.rows import Status
from askwise.service.operations import compacting
from askwise.service.operations.export import export_project, import_project
from askwise.service.replanning import thinning
from askwise.service.replanning.policy_versions import PolicyCache
from askwise.service.replanning.replanner import Replanner
from askwise.service.replanning.thinning import THIN, thin
from serving import (  # noqa: F401 (fixtures)
    ask,
    create,
    database_fixture,
    decoded,
    ledger_fixture,
    postgres_fixture,
)

PROBLEM = aw.Problem(
    observations=[
        aw.Observation("mammogram", values=["low", "high"], cost=1.0),
        aw.Observation("mri", values=["neg", "pos"], cost=9.0, fails="refunded"),
    ],
    panels=[aw.Panel(fee=2.0, observations=["mammogram", "mri"])],
    actions=["wait", "treat"],
    reward_value=100.0,
)
SEES = {"mammogram": "low", "mri": "neg"}


class Clinic:
    """Cases in every stage, under many versions of the policy."""

    def __init__(self, ledger, **options):
        self.ledger, self.cache = ledger, PolicyCache(ledger)
        self.writer = Writer(ledger, self.cache)
        create(self.writer, "clinic", PROBLEM, **options)
        self.replanner = Replanner(ledger)
        self.fence = ledger.take_lease(self.replanner._holder).fence
        self.open = []

    def run(self, rounds, finishes=lambda k: True):
        for k in range(rounds):
            known = {"mri": "pos"} if k % 3 == 0 else None
            terms = {"prices": {"mri": 2.0}, "stake": 2.5} if k % 6 == 2 else {}
            case = decoded(ask(self.writer, Opening(known, **terms)))
            number = case["case"]
            if not finishes(k):
                self.open.append(number)
            else:
                self.finish(case, k)
            assert self.replanner.plan(self.ledger.project("clinic"), self.fence)
            self.cache.prepare(self.project.id, self.project.version)
        return self

    def finish(self, case, k):
        number = case["case"]
        if k % 7 == 3:  # people do not wait for what is wanted
            case = decoded(ask(self.writer, Acting("treat"), number))
        while case["wanted"]:
            values = {name: SEES[name] for name in case["wanted"]}
            paid = dict.fromkeys(values, 0.75) if k % 4 == 0 else None
            case = decoded(ask(self.writer, Observing(values, paid), number))
        if k % 5:
            ask(self.writer, Rewarding(0.25, default=k % 2 == 0), number)
            ask(self.writer, Rewarding(0.5, replaces=True), number)
        else:
            ask(self.writer, Cancelling(), number)

    @property
    def project(self):
        return self.ledger.project("clinic")

    def erase(self, case):
        cache = PolicyCache(self.ledger)

        def find(lattice, version):
            return cache.version_or_thin(self.project.id, lattice, version)

        job = erasure(self.ledger, self.project, secrets.token_hex(8), case, find)
        return self.writer.commit([job])[0]


@pytest.fixture(autouse=True)
def _few_recent(monkeypatch):
    monkeypatch.setattr(thinning, "RECENT", 10)


def test_what_no_open_case_follows_is_thinned_and_all_can_be_worked_out_still(ledger, tmp_path):
    clinic = Clinic(ledger).run(24, finishes=lambda k: k != 3)
    before = dict(ledger.policy_sizes(clinic.project.id))
    done = thin(ledger, clinic.project)
    after = dict(ledger.policy_sizes(clinic.project.id))
    thinned = {v for v in after if ledger.policy(clinic.project.id, v).blob.startswith(THIN)}
    newest = clinic.project.version
    (followed,) = thinning.followed_versions(ledger, clinic.project)
    assert thinned == set(range(2, newest - 9)) - {followed}
    assert done.versions == len(thinned) > 5
    assert (
        done.saved
        == sum(before.values()) - sum(after.values())
        > 0.9 * sum(before[v] for v in thinned)
    )
    assert thin(ledger, clinic.project).versions == 0
    assert verify(ledger, "clinic").differences == []
    # a case that was open goes on, and one that is over can be corrected
    other = Writer(ledger, PolicyCache(ledger))
    case = clinic.open[0]
    wanted = [
        name for name in SEES if ask(other, Observing({name: SEES[name]}), case).status == 200
    ]
    assert wanted
    assert ask(other, Rewarding(1.0, replaces=True), 2).status == 200
    assert verify(ledger, "clinic").differences == []
    lines = list(export_project(ledger, "clinic"))
    copy = open_ledger(str(tmp_path / "copy.db"))
    import_project(copy, lines)
    assert verify(copy, "clinic").differences == []
    copy.close()
    bad = [line.replace(b'"mammogram":"low"', b'"mammogram":"high"') for line in lines]
    third = open_ledger(str(tmp_path / "third.db"))
    with pytest.raises(LedgerError):
        import_project(third, bad)
    third.close()


def test_a_worker_that_is_far_behind_opens_no_case_under_what_may_be_thinned(ledger):
    clinic = Clinic(ledger)
    stalled = PolicyCache(ledger)
    slow = Writer(ledger, stalled)
    ask(slow, Opening())
    clinic.run(14)
    opened = decoded(ask(slow, Opening()))
    assert opened["policy_version"] >= clinic.project.version - thinning.MOST_BEHIND
    thin(ledger, clinic.project)
    case = PolicyCache(ledger)
    other = Writer(ledger, case)
    if opened["wanted"]:
        values = {name: SEES[name] for name in opened["wanted"]}
        assert ask(other, Observing(values), opened["case"]).status == 200


@pytest.mark.parametrize(
    ("database", "options"),
    [("sqlite", {}), ("sqlite", {"window": 8}), ("postgresql", {"window": 8})],
    indirect=["database"],
)
def test_an_erased_case_leaves_the_counters_as_they_are(ledger, options, tmp_path):
    clinic = Clinic(ledger, **options).run(16)
    body = Repricing({"mri": 3.0})
    assert clinic.writer.commit([repricing(clinic.project, "price", body)])[0].status == 200
    clinic.run(6)
    project = clinic.project
    thin(ledger, project)

    def counted():
        rows = ledger.snapshot(project.id).counters
        return {r[:3]: r.amount for r in rows if not r.kind.startswith("erased") and r.amount}

    before = counted()
    for case in (1, 2, 9, 13, 18, 21):
        result = clinic.erase(case)
        assert result.status == 200, result
    assert counted() == before
    assert verify(ledger, "clinic").differences == []
    left = [e for e in ledger.events(project.id, 0, 10_000) if e.case in (1, 2, 9, 13)]
    assert left
    assert {(e.body, e.answer, e.key.split()[0]) for e in left} == {(b"", b"", "erased")}
    assert ledger.case(project.id, 9).data == b""
    assert isinstance(clinic.erase(9), Refusal)
    late = ask(clinic.writer, Rewarding(1.0, replaces=True), 9)
    assert (late.status, isinstance(late, Refusal)) == (410, True)
    clinic.run(9)  # blocks end, and prices may change again
    assert clinic.writer.commit([repricing(clinic.project, "again", body)])[0].status == 200
    assert verify(ledger, "clinic").differences == []
    copy = open_ledger(str(tmp_path / "copy.db"))
    import_project(copy, export_project(ledger, "clinic"))
    assert verify(copy, "clinic").differences == []
    copy.close()


def test_a_case_that_is_not_over_is_not_erased(ledger):
    clinic = Clinic(ledger).run(2, finishes=lambda k: k > 0)
    for case, status in ((1, 409), (99, 404)):
        refused = clinic.erase(case)
        assert (refused.status, isinstance(refused, Refusal)) == (status, True)
    assert verify(ledger, "clinic").differences == []


def test_the_database_lets_nothing_else_be_changed(ledger):
    clinic = Clinic(ledger).run(2)
    for sql in (
        "UPDATE events SET body = answer WHERE project = 1",
        "UPDATE events SET at = 1 WHERE project = 1",
        "UPDATE events SET body = answer, answer = body, seq = 99 WHERE seq = 1 AND project = 1",
        "DELETE FROM events WHERE project = 1",
    ):
        with pytest.raises((LedgerDataError, LedgerError)), ledger.write_session() as session:
            session.change(sql)
    assert verify(ledger, "clinic").differences == []
    assert clinic.project.seq > 0


def test_the_command_line_compacts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = open_ledger("askwise.db")
    Clinic(ledger).run(20)
    before = ledger.size()
    ledger.close()
    run = CliRunner().invoke
    result = run(app, ["ledger", "compact"])
    assert result.exit_code == 0, result.output
    assert "thinned" in result.output
    ledger = open_ledger("askwise.db")
    assert ledger.size() < before
    assert verify(ledger, "clinic").differences == []
    ledger.close()


def test_cases_that_were_abandoned_are_cancelled_and_keep_no_policy(ledger, monkeypatch):
    clinic = Clinic(ledger).run(24, finishes=lambda k: k not in (2, 4))
    writer = Writer(ledger, PolicyCache(ledger))
    assert compacting.cancel_abandoned(ledger, writer, clinic.project, 1) == 0
    tomorrow = time.time_ns() + 86_400 * 10**9
    with monkeypatch.context() as later:
        later.setattr(compacting.time, "time_ns", lambda: tomorrow)
        assert compacting.cancel_abandoned(ledger, writer, clinic.project, 2) == 0
        assert compacting.cancel_abandoned(ledger, writer, clinic.project, 0.5) == 2
        assert compacting.cancel_abandoned(ledger, writer, clinic.project, 0.5) == 0
    for case in clinic.open:
        assert ledger.case(clinic.project.id, case).status == Status.CANCELLED
    assert not thinning.followed_versions(ledger, clinic.project)
    assert thin(ledger, clinic.project).versions == clinic.project.version - 10 - 1
    assert verify(ledger, "clinic").differences == []
    refused = ask(clinic.writer, Observing({"mammogram": "low"}), clinic.open[0])
    assert isinstance(refused, Refusal)


def test_the_command_line_cancels_abandoned_cases(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = open_ledger("askwise.db")
    Clinic(ledger).run(14, finishes=lambda k: k != 2)
    ledger.close()
    run = CliRunner().invoke
    assert "cancelled" not in run(app, ["ledger", "compact"]).output
    assert "0 cases cancelled" in run(app, ["ledger", "compact", "--cancel-after", "1"]).output
    assert "1 cases cancelled" in run(app, ["ledger", "compact", "--cancel-after", "1e-9"]).output
    for days in ("0", "-1", "nan", "inf"):
        result = run(app, ["ledger", "compact", "--cancel-after", days])
        assert result.exit_code != 0
        assert "--cancel-after must be a number of days above 0" in str(result.exception)
