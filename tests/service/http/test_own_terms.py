"""Cases on their own terms: no request of another case waits while a policy for one is planned."""

import threading
from functools import partial
from types import SimpleNamespace

import pytest

from askwise.learners.learner import rounds_of
from askwise.learners.rounds import Rounds
from askwise.service.api.messages import Opening
from askwise.service.backend.backend import Backend
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.decisions.writer import Writer
from askwise.service.http import plans_ahead
from askwise.service.ledger import open_ledger
from askwise.service.replanning.policy_versions import PolicyCache
from askwise.service.replanning.replanner import Replanner
from service_calls import CASES, as_json, get, post
from serving import PROBLEM, ask, create, decoded, served
from waiting import PATIENCE

TERMS = {"prices": {"mri": 2.0}, "stake": 3.0}
OPENING = Opening(**TERMS)
BOTH = {"name": "fixed-set", "options": {"observations": ["mammogram", "mri"]}}
BATCH = CASES.removesuffix("/cases") + "/batch"
SEEN = {"mammogram": "low", "mri": "neg"}


@pytest.fixture(name="planners")
def planners_fixture(monkeypatch):
    """The names of the threads that have planned for single cases."""
    threads, plan = [], Rounds.policy_for_case

    def noted(self, *terms):
        threads.append(threading.current_thread().name)
        return plan(self, *terms)

    monkeypatch.setattr(Rounds, "policy_for_case", noted)
    return threads


def test_the_writer_finds_a_prepared_policy_while_another_case_is_planned(tmp_path):
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    policy_cache = PolicyCache(ledger)
    writer = Writer(ledger, policy_cache)
    create(writer)
    project = ledger.project("clinic")
    planned = policy_cache.newest(project.id, 1)
    decider = CaseDecider(project, partial(policy_cache.version_or_thin, project.id))
    prepared = decider.prepare(planned, OPENING)
    answers = []
    with rounds_of(planned.learner).lock:  # as it is held as long as a plan takes
        opening = threading.Thread(target=lambda: answers.append(ask(writer, OPENING)))
        opening.start()
        opening.join(PATIENCE)
        assert decoded(answers[0])["case"] == 1
    assert prepared is decider.prepare(planned, OPENING)
    ledger.close()


def test_nothing_is_planned_by_the_thread_that_writes(tmp_path, monkeypatch, planners):
    monkeypatch.setattr(plans_ahead, "LARGE", 0)
    db = str(tmp_path / "ledger.db")
    with served(db) as one, served(db) as other:
        body = {"name": "clinic", "problem": as_json(PROBLEM), "learner": BOTH}
        assert post(one, "/v1/projects", body).status_code == 201
        assert post(one, CASES, TERMS).json()["wanted"]
        seen = post(other, f"{CASES}/1/observations", {"values": SEEN})
        assert seen.json()["action"] is not None
    assert len(planners) >= 2  # one of each
    assert not [name for name in planners if name.startswith("writer")]


def test_a_case_on_the_usual_terms_is_not_planned_for(tmp_path, monkeypatch, planners):
    monkeypatch.setattr(plans_ahead, "LARGE", 0)
    db = str(tmp_path / "ledger.db")
    with served(db) as one, served(db) as other:
        body = {"name": "clinic", "problem": as_json(PROBLEM), "learner": BOTH}
        assert post(one, "/v1/projects", body).status_code == 201
        assert post(one, CASES, {}).json()["wanted"]
        assert post(other, f"{CASES}/1/observations", {"values": SEEN}).is_success
    assert planners == []


def test_a_case_that_is_looked_at_is_not_planned_for(tmp_path, planners):
    db = str(tmp_path / "ledger.db")
    with served(db) as one, served(db) as other:
        body = {"name": "clinic", "problem": as_json(PROBLEM), "learner": BOTH}
        assert post(one, "/v1/projects", body).status_code == 201
        case = post(one, CASES, TERMS).json()
        planners.clear()
        story = get(other, f"{CASES}/1").json()
        assert get(other, CASES).json()["cases"] == [story]
    assert story["wanted"] == case["wanted"] == ["mammogram", "mri"]
    assert story["prices"] == {"mammogram": 1.0, "mri": 2.0}
    assert planners == []


def test_a_version_that_comes_meanwhile_is_planned_by_too(tmp_path):
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    policy_cache = PolicyCache(ledger)
    writer = Writer(ledger, policy_cache)
    create(writer)
    project = ledger.project("clinic")
    decider = CaseDecider(project, partial(policy_cache.version_or_thin, project.id))
    ask(writer, Opening())
    assert Replanner(ledger).step() == 1
    versions, prepare = [], decider.prepare

    def prepared(planned, body):
        versions.append(planned.version)
        policy_cache.prepare(project.id, 2)  # as the maintenance thread does it
        return prepare(planned, body)

    decider.prepare = prepared
    kept = Backend.plan_opening(SimpleNamespace(policy_cache=policy_cache), decider, OPENING)
    assert versions == [1, 2]
    assert kept.version == 2
    assert prepare(policy_cache.newest(project.id, 2), OPENING) is kept.policy
    ledger.close()


def test_a_reward_to_a_case_that_still_looks_is_refused_without_a_plan(
    tmp_path, monkeypatch, planners
):
    monkeypatch.setattr(plans_ahead, "LARGE", 0)
    db = str(tmp_path / "ledger.db")
    with served(db) as one, served(db) as other:
        body = {"name": "clinic", "problem": as_json(PROBLEM), "learner": BOTH}
        assert post(one, "/v1/projects", body).status_code == 201
        assert post(one, CASES, TERMS).json()["wanted"]
        planners.clear()
        refused = post(other, f"{CASES}/1/reward", {"reward": 1.0})
        assert refused.status_code == 409
        assert "still wants something (mammogram, mri)" in refused.json()["detail"]
        assert planners == []
        assert post(other, f"{CASES}/1/observations", {"values": SEEN}).is_success
        assert post(other, f"{CASES}/1/reward", {"reward": 1.0}).is_success
    assert not [name for name in planners if name.startswith("writer")]


def test_a_batch_that_is_written_in_parts_is_answered_as_a_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(plans_ahead, "MOST_BYTES", 0)  # after each plan, what there is is written
    stakes = [1.0, 2.0, 3.0, 5e8, 1.0, 2.0]  # one is too large
    with served(str(tmp_path / "ledger.db")) as server:
        body = {"name": "clinic", "problem": as_json(PROBLEM), "learner": BOTH}
        assert post(server, "/v1/projects", body).status_code == 201
        items = [{"key": f"batch-{k}", "open": {"stake": stake}} for k, stake in enumerate(stakes)]
        answers = post(server, BATCH, items).json()
        assert post(server, BATCH, items).json() == answers
        stories = get(server, CASES).json()["cases"]
    assert [answer["status"] for answer in answers] == [201, 201, 201, 422, 201, 201]
    assert [a["answer"]["case"] for a in answers if "answer" in a] == [1, 2, 3, 4, 5]
    assert {story["case"]: story["stake"] for story in stories} == {1: 1, 2: 2, 3: 3, 4: 1, 5: 2}
