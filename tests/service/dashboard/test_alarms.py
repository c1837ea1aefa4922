"""Alarms are raised by what is wrong, and said in the answer, the metrics and the log."""

import json

from askwise.service.api.messages import (
    EstimateAnswer,
    Observing,
    Opening,
    Rewarding,
    WorthAnswer,
)
from askwise.service.backend.backend import Backend
from askwise.service.dashboard.alarms import NAMES, Facts, find_alarms
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.replanning.policy_versions import PolicyCache
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
    monkeypatch.setattr("askwise.service.dashboard.alarms.FEWEST", 3)

    def raised(nothing, low, high, **more):
        left = EstimateAnswer(high, low, high)
        worth = WorthAnswer(1, [], gain=60.0, gain_of_nothing=nothing, still_to_learn=left)
        return set(find_alarms(ledger, project, Facts(worth=worth, **more)))

    assert raised(40.0, 1.0, 2.0) == set()  # they gained 49 each
    assert raised(55.0, 1.0, 2.0) == {"gain_below_nothing"}
    assert raised(40.0, 0.0, 0.01) == {"learned_enough"}
    assert raised(40.0, 9.0, 12.0, explores=False) == {"exploration_collapsed"}
    assert raised(40.0, 9.0, 12.0) == set()


def test_alarms_are_in_the_answer_the_metrics_and_the_log(tmp_path, capfd):
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
    said = [json.loads(line) for line in capfd.readouterr().err.splitlines() if "alarm" in line]
    assert [line["alarm"] for line in said if line["what"] == "alarm"] == ["plan_behind"]


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
