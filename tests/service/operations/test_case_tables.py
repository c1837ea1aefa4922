"""The cases of a project as a table: read as it is, it says what the service learned."""

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import askwise as aw
from askwise.cli import app
from askwise.errors import LedgerError, ServiceError, TableError
from askwise.service.api.events import typed_answer, typed_body
from askwise.service.api.messages import (
    Acting,
    Cancelling,
    CaseAnswer,
    EventLine,
    Observing,
    Opening,
    Rewarding,
)
from askwise.service.dashboard.summaries import event_line
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.operations.case_tables import write_parquet
from askwise.service.replanning.counter_rows import statistics_of
from askwise.service.replanning.policy_versions import PolicyCache, learner_of
from serving import ask, create, decoded

PROBLEM = aw.Problem(
    observations=[
        aw.Observation("mammogram", values=["low", "high"], cost=1.0),
        aw.Observation("mri", values=[0, 1], cost=9.0, fails="refunded"),
    ],
    actions=["wait", "treat"],
    reward_value=100.0,
)


@pytest.fixture(name="ledger")
def ledger_fixture(tmp_path):
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    yield ledger
    ledger.close()


def fill(ledger, cases=80, **options):
    writer, rng = Writer(ledger, PolicyCache(ledger)), np.random.default_rng(3)
    create(writer, "clinic", PROBLEM, **options)
    for k in range(cases):
        ill = bool(rng.random() < 0.4)
        seen = {"mammogram": "high" if ill else "low", "mri": None if k % 9 == 0 else int(ill)}
        stake = 3.0 if k % 3 == 0 else 1.0
        case = decoded(ask(writer, Opening({"mri": 1} if k % 20 == 7 else None, stake=stake)))
        while case["wanted"]:
            values = {name: seen[name] for name in case["wanted"]}
            case = decoded(ask(writer, Observing(values), case["case"]))
        if k % 10 == 4:
            ask(writer, Cancelling(), case["case"])
        elif k % 10 != 5:
            ask(writer, Rewarding(float((case["action"] == "treat") == ill)), case["case"])


@pytest.mark.parametrize("acquisition", ["sequential", "simultaneous"])
def test_the_table_is_read_as_it_is(ledger, tmp_path, acquisition):
    fill(ledger, acquisition=acquisition)
    path = tmp_path / "cases.parquet"
    written = write_parquet(ledger, "clinic", path)
    rows = written.rows
    assert written.left_out == 4
    assert written.reasons == {"with values on file: a table has whole cases": 4}
    assert "biased" not in str(written)
    assert rows == 80 - 8 - 8 - 4
    more = {"acquisition": acquisition}
    fit = aw.fit(str(path), PROBLEM, **more)
    found = fit.statistics
    assert int(found.action_counts.sum()) == rows
    project = ledger.project("clinic")
    counted = statistics_of(learner_of(project), ledger.snapshot(project.id).counters)
    assert int(counted.reward_sums.sum()) >= int(found.reward_sums.sum()) > 0
    value = aw.off_policy(fit.recommend(), str(path), **more)
    assert value is not None
    stakes = pq.read_table(path)["stake"].to_pylist()
    assert set(stakes) == {1.0, 3.0}
    assert fit.stake == pytest.approx(np.mean(stakes))
    with pytest.raises(LedgerError, match="no project"):
        write_parquet(ledger, "nowhere", tmp_path / "x.parquet")
    assert sorted(p.name for p in tmp_path.glob("*.parquet")) == ["cases.parquet"]


def overrule(writer, seen, **acted):
    case = decoded(ask(writer, Opening()))
    while case["wanted"]:
        case = decoded(ask(writer, Observing({n: seen[n] for n in case["wanted"]}), case["case"]))
    other = "wait" if case["action"] == "treat" else "treat"
    ask(writer, Acting(other, **acted), case["case"])
    ask(writer, Rewarding(1.0), case["case"])


def test_what_people_did_is_a_row_where_it_is_a_fair_sample(ledger, tmp_path):
    """Of 12 overruled cases 5 were decided by those who knew no more; 3 more had own prices."""
    fill(ledger, cases=10)
    writer = Writer(ledger, PolicyCache(ledger))
    seen = {"mammogram": "high", "mri": 1}
    plain = write_parquet(ledger, "clinic", tmp_path / "plain.parquet").rows
    for number in range(12):
        overrule(writer, seen, knew_more=number >= 5)
    for _ in range(3):
        case = decoded(ask(writer, Opening(prices={"mri": 2.5})))
        while case["wanted"]:
            values = {name: seen[name] for name in case["wanted"]}
            case = decoded(ask(writer, Observing(values), case["case"]))
        ask(writer, Rewarding(1.0), case["case"])
    path = tmp_path / "cases.parquet"
    written = write_parquet(ledger, "clinic", path)
    assert written.rows == plain + 5 + 3
    assert written.without_propensity == 5
    assert written.reasons["in which people decided or looked, and knew more than the case"] == 7
    assert "can be biased" in str(written)
    assert "5 of the cases have no propensity" in str(written)
    fit = aw.fit(str(path), PROBLEM, acquisition="sequential")
    assert fit.rows == written.rows
    with pytest.raises(TableError, match="leave such rows out"):
        aw.off_policy(fit.recommend(), str(path), acquisition="sequential")
    table = pq.read_table(path)
    known = table.filter(table["propensity"].is_valid())
    assert aw.off_policy(fit.recommend(), known, acquisition="sequential").rows == plain + 3


def test_a_reported_propensity_is_that_of_the_row(ledger, tmp_path):
    fill(ledger, cases=4)
    writer = Writer(ledger, PolicyCache(ledger))
    before = write_parquet(ledger, "clinic", tmp_path / "before.parquet").rows
    overrule(writer, {"mammogram": "high", "mri": 1}, knew_more=False, propensity=0.125)
    path = tmp_path / "cases.parquet"
    written = write_parquet(ledger, "clinic", path)
    assert (written.rows, written.without_propensity) == (before + 1, 0)
    assert pq.read_table(path)["propensity"].to_pylist()[-1].split(",")[-1] == "0.125"
    value = aw.off_policy(
        aw.Policy.from_rule(PROBLEM, lambda known: "treat"), str(path), acquisition="sequential"
    )
    assert value.rows == before + 1


@pytest.mark.parametrize("acquisition", ["sequential", "simultaneous"])
@pytest.mark.parametrize("acted", [{}, {"knew_more": False}])
def test_advice_that_people_confirm_is_a_row_as_if_they_said_nothing(
    ledger, tmp_path, acted, acquisition
):
    """At once, again, or after they had reported something else."""
    fill(ledger, cases=4, acquisition=acquisition)
    writer, seen = Writer(ledger, PolicyCache(ledger)), {"mammogram": "high", "mri": 1}
    before, propensities = write_parquet(ledger, "clinic", tmp_path / "before.parquet").rows, []
    for reports in ((0,), (0, 0), (1, 0)):
        case = decoded(ask(writer, Opening()))
        while case["wanted"]:
            values = {name: seen[name] for name in case["wanted"]}
            case = decoded(ask(writer, Observing(values), case["case"]))
        propensities.append(np.prod(case["propensity"]))
        other = "wait" if case["action"] == "treat" else "treat"
        for report in reports:
            ask(writer, Acting((case["action"], other)[report], **acted), case["case"])
        ask(writer, Rewarding(1.0), case["case"])
    path = tmp_path / "cases.parquet"
    written = write_parquet(ledger, "clinic", path)
    assert (written.rows, written.without_propensity) == (before + 3, 0)
    assert written.reasons == {}
    found = pq.read_table(path)["propensity"].to_pylist()[before:]
    assert [np.prod([float(p) for p in one.split(",")]) for one in found] == propensities
    value = aw.off_policy(
        aw.Policy.from_rule(PROBLEM, lambda known: "treat"), str(path), acquisition=acquisition
    )
    assert value.rows == written.rows


def test_an_action_reported_again_keeps_its_propensity(ledger, tmp_path):
    fill(ledger, cases=4)
    writer = Writer(ledger, PolicyCache(ledger))
    seen = {"mammogram": "high", "mri": 1}
    case = decoded(ask(writer, Opening()))
    while case["wanted"]:
        case = decoded(ask(writer, Observing({n: seen[n] for n in case["wanted"]}), case["case"]))
    other = "wait" if case["action"] == "treat" else "treat"
    first = ask(writer, Acting(other, knew_more=False, propensity=0.125), case["case"])
    again = ask(writer, Acting(other, knew_more=False), case["case"])
    assert (first.status, again.status) == (200, 200)
    ask(writer, Rewarding(1.0), case["case"])
    path = tmp_path / "cases.parquet"
    assert write_parquet(ledger, "clinic", path).without_propensity == 0
    assert pq.read_table(path)["propensity"].to_pylist()[-1].split(",")[-1] == "0.125"


def test_the_command_line_writes_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = open_ledger("askwise.db")
    fill(ledger, cases=12)
    ledger.close()
    run = CliRunner().invoke
    arguments = ["ledger", "export", "clinic", "--output", "cases.parquet", "--format"]
    result = run(app, [*arguments, "parquet"])
    assert result.exit_code == 0, result.output
    assert "cases, " in result.output
    assert "- left out: 1 with values on file" in result.output
    assert run(app, [*arguments, "xml"]).exit_code != 0


def test_events_have_typed_bodies(ledger):
    fill(ledger, cases=12)
    project = ledger.project("clinic")
    lines = [event_line(event) for event in ledger.events(project.id, 0, 1000)]
    events = [msgspec.json.decode(line, type=EventLine) for line in lines]
    assert isinstance(typed_body(events[0]), Opening)
    assert {type(typed_answer(event)) for event in events} == {CaseAnswer}
    rewards = [typed_body(e).reward for e in events if e.kind == "reward"]
    assert set(rewards) <= {0.0, 1.0}
    assert rewards
    events[0].kind = "dream"
    with pytest.raises(ServiceError, match="dream"):
        typed_body(events[0])
