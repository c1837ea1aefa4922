"""Alarms are raised by what is wrong, and said in the answer, the metrics and the log."""

import json
import secrets

import msgspec
import pytest

from askwise.service.api.messages import (
    EstimateAnswer,
    Observing,
    Opening,
    Rewarding,
)
from askwise.service.backend.backend import Backend
from askwise.service.dashboard.alarms import NAMES, AlarmLog, Facts, find_alarms
from askwise.service.decisions.commit_groups import Operation
from askwise.service.decisions.replay import verify
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.replanning.outlook import Outlook, outlook_of
from askwise.service.replanning.policy_versions import PolicyCache
from askwise.service.replanning.recent_gain import RecentGain, recent_gain
from askwise.service.replanning.replanner import Replanner
from askwise.service.settings import Settings
from service_calls import as_json, get, post
from serving import (  # noqa: F401 (fixtures)
    PROBLEM,
    ask,
    create,
    database_fixture,
    decoded,
    ledger_fixture,
    postgres_fixture,
    served,
)
from waiting import until


def test_alarms_are_raised_by_what_is_wrong(ledger, monkeypatch):
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer, learner="fixed-set", observations=["mammogram"])
    for _ in range(3):
        case = decoded(ask(writer, Opening()))
        ask(writer, Observing({"mammogram": "low"}), case["case"])
    project = ledger.project("clinic")
    assert find_alarms(ledger, project, Facts()) == {}
    late = find_alarms(ledger, project, Facts(is_late=True, unreadable="version 3"))
    assert set(late) == {"plan_behind", "policy_unreadable"}
    failed = find_alarms(ledger, project._replace(failure="it fails"), Facts())
    assert "it fails" in failed["plan_behind"]
    with monkeypatch.context() as patient:
        patient.setattr("askwise.service.dashboard.alarms.OVERDUE", -1)
        assert "case 1" in find_alarms(ledger, project, Facts())["rewards_overdue"]
    for number in range(1, 4):
        ask(writer, Rewarding(0.5), number)

    def raised(is_below, low, high, **more):
        left, gained = EstimateAnswer(high, low, high), RecentGain(208, 49.0, 1.5, False)
        seen = Outlook(1, 0, gain=60.0, gain_of_nothing=55.0, still_to_learn=left, **more)
        seen.gained, seen.is_below_nothing = gained, is_below
        ledger.record_outlook(project.id, msgspec.json.encode(seen).decode())
        return set(find_alarms(ledger, ledger.project("clinic"), Facts()))

    assert raised(False, 1.0, 2.0) == set()
    assert raised(True, 1.0, 2.0) == {"gain_below_nothing"}
    assert raised(False, 0.0, 0.01) == {"learned_enough"}
    assert raised(False, 9.0, 12.0, explores=False) == {"exploration_collapsed"}
    assert raised(False, 9.0, 12.0) == set()


def decide_all(writer, cases, rewards, **opening):
    """Cases that look at the mammogram, and have these rewards in turn; a commit for each step."""

    def commit(bodies, numbers):
        jobs = [
            Operation("clinic", secrets.token_hex(8), number, body)
            for number, body in zip(numbers, bodies, strict=True)
        ]
        results = writer.commit(jobs)
        assert {result.status for result in results} <= {200, 201}
        return results

    opened = commit([Opening(**opening)] * cases, [0] * cases)
    numbers = [decoded(result)["case"] for result in opened]
    commit([Observing({"mammogram": "low"})] * cases, numbers)
    commit([Rewarding(rewards[k % len(rewards)]) for k in range(cases)], numbers)


def test_all_workers_raise_what_follows_from_worth_and_nobody_need_look(tmp_path):
    """Also after a restart: what these alarms go by is worked out where plans are made."""
    db = str(tmp_path / "ledger.db")
    ledger = open_ledger(db)
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer, learner="fixed-set", observations=["mammogram"])
    # a look that says nothing costs 2 for each unit of stake, and is always bought
    decide_all(writer, 208, [0.7], stake=0.5)
    assert look(Replanner(ledger), ledger) == 1
    expected = {"gain_below_nothing"}
    assert set(find_alarms(ledger, ledger.project("clinic"), Facts())) >= expected
    ledger.close()
    line = 'askwise_alarm{alarm="gain_below_nothing",project="clinic"} 1.0'
    for _ in range(2):
        with served(db) as server:
            until(lambda server=server: line in get(server, "/metrics").text)
            found = get(server, "/v1/projects/clinic/alarms").json()["alarms"]
            assert {alarm["name"] for alarm in found} >= expected


@pytest.mark.parametrize("stake", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("is_well", [False, True])
def test_a_stake_neither_raises_nor_hides_an_alarm(ledger, stake, is_well):
    """Cases gain 0.7 of their stake, less 1; exploration may cost 1 for each unit of stake."""
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer, learner="fixed-set", observations=["mammogram"])
    decide_all(writer, 208, [0.7], stake=stake)
    assert verify(ledger, "clinic").differences == []
    gained, expected = recent_gain(ledger, ledger.project("clinic")), 70.0 - 1.0 / stake
    assert gained.of_unit == pytest.approx(expected, rel=1e-6)
    nothing = expected + 0.5 if is_well else expected + 1.5
    is_below = gained.is_below(nothing, PROBLEM.reward_value, was_below=False)
    assert is_below is not is_well
    seen = Outlook(2, 0, gain_of_nothing=nothing, gained=gained, is_below_nothing=is_below)
    project = ledger.project("clinic")._replace(outlook=msgspec.json.encode(seen).decode())
    found = find_alarms(ledger, project, Facts())
    assert set(found) == (set() if is_well else {"gain_below_nothing"})
    assert is_well or ("unit of stake" in str(found)) == (stake != 1.0)


def look(replanner, ledger):
    """Plan, until nothing is left to look at."""
    planned, lookout = replanner.step(), replanner._lookout
    until(
        lambda: replanner.step() == 0 and not lookout._work and not lookout.wants(ledger.projects())
    )
    return planned


def test_what_alarms_go_by_is_worked_out_now_and_then(ledger, monkeypatch):
    monkeypatch.setattr("askwise.service.replanning.outlook.RESTS", 0.0)
    writer, replanner = Writer(ledger, PolicyCache(ledger)), Replanner(ledger)

    def seen():
        found = outlook_of(ledger.project("clinic"))
        return None if found is None else found.version

    create(writer)
    assert (replanner.step(), seen()) == (0, None)  # nothing is learned yet
    ask(writer, Opening())
    assert (look(replanner, ledger), seen()) == (1, 2)
    assert outlook_of(ledger.project("clinic")).gain is not None
    for _ in range(2):
        ask(writer, Opening())
    assert (look(replanner, ledger), seen()) == (1, 2)  # it was worked out just now
    monkeypatch.setattr("askwise.service.replanning.outlook.RENEWED_AFTER", 0)
    assert (look(replanner, ledger), seen()) == (0, 3)
    ask(writer, Opening())
    broken = "askwise.service.replanning.outlook.outlook_now"
    monkeypatch.setattr(broken, lambda *given: 1 / 0)
    assert (look(replanner, ledger), seen()) == (1, 4)  # and no plan fails with it
    assert outlook_of(ledger.project("clinic")).gain is None


def test_alarms_are_in_the_answer_and_the_metrics(tmp_path):
    db = str(tmp_path / "ledger.db")
    with served(db) as server:
        post(server, "/v1/projects", {"name": "clinic", "problem": as_json(PROBLEM)})
        assert get(server, "/v1/projects/clinic/alarms").json() == {"alarms": []}
        ledger = open_ledger(db)
        ledger.record_plan_failure(ledger.project("clinic").id, "no more numbers")
        ledger.close()
        (alarm,) = get(server, "/v1/projects/clinic/alarms").json()["alarms"]
        assert alarm["name"] == "plan_behind"
        assert alarm["name"] in NAMES
        line = 'askwise_alarm{alarm="plan_behind",project="clinic"} 1.0'
        until(lambda: line in get(server, "/metrics").text)


def test_an_alarm_is_in_the_log_though_nobody_asks(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr("askwise.service.http.handlers.ALARMS_EVERY", 0.1)
    db = str(tmp_path / "ledger.db")
    ledger = open_ledger(db)
    create(Writer(ledger, PolicyCache(ledger)))
    said = []

    def logged(what):
        said.extend(capfd.readouterr().err.splitlines())
        lines = [json.loads(line) for line in said]
        return [one["alarm"] for one in lines if one["what"] == what] == ["plan_behind"]

    with served(db):
        ledger.record_plan_failure(ledger.project("clinic").id, "no more numbers")
        until(lambda: logged("alarm"))
        ledger.record_plan_failure(ledger.project("clinic").id, "")
        until(lambda: logged("alarm is over"))
    ledger.close()


def test_of_all_workers_one_logs_an_alarm_and_its_end(tmp_path, capfd, ledger):
    create(Writer(ledger, PolicyCache(ledger)))
    project = ledger.project("clinic")
    logs = [AlarmLog(str(tmp_path)) for _ in range(3)]
    for found in ({"drift_found": "it has"}, {"drift_found": "it has"}, {}, {}):
        for one in logs:
            one.note(project, found)
    said = [json.loads(line) for line in capfd.readouterr().err.splitlines() if "alarm" in line]
    assert [line["what"] for line in said] == ["alarm", "alarm is over"]


def test_an_archived_project_has_no_alarms(ledger):
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer)
    project = ledger.project("clinic")._replace(failure="it fails")
    assert find_alarms(ledger, project, Facts())
    assert find_alarms(ledger, project._replace(archived=1), Facts(is_late=True)) == {}


def test_any_worker_answers_for_all(tmp_path):
    settings = Settings(db=str(tmp_path / "ledger.db"), metrics_folder=str(tmp_path))
    first, second = Backend(settings, 0), Backend(settings, 1)
    second.metrics.count_answer("/healthz", 200, 0.01)
    second.metrics.leave()
    (tmp_path / "2.json").write_bytes(b"half a file")
    counts = {one.worker: one.requests for one in first.metrics._all_counts()}
    assert counts == {"0": [], "1": [("/healthz", 200, 1)]}
    for backend in (first, second):
        backend.ledger.close()
