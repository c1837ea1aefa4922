"""The service over HTTP: what it answers."""

import json
import threading

import httpx

from service_calls import CASES, as_json, events, finished, get, new_case, post
from serving import PROBLEM, served
from waiting import PATIENCE, until

# --- a case, from the door to its reward ---------------------------------------------------------


def test_a_case_is_answered_step_by_step_and_its_story_can_be_read(server):
    case = finished(server)
    likely = case.pop("propensity")
    assert set(case) == {"case", "wanted", "action", "cost", "policy_version"}
    assert case["action"] in PROBLEM.action_names
    steps = len(get(server, f"{CASES}/{case['case']}").json()["path"]) + 1
    assert len(likely) in (2, steps)  # a set that is bought at once is one step
    assert all(0 < chance <= 1 for chance in likely)
    path = f"{CASES}/{case['case']}"
    assert get(server, path).json()["status"] == "acted"
    assert post(server, path + "/reward", {"reward": 0.5, "default": True}).json() == case
    assert get(server, path).json()["by_default"] is True
    assert post(server, path + "/reward", {"reward": 0.75}).json() == case
    assert post(server, path + "/reward", {"reward": 0.75}).status_code == 409
    assert post(server, path + "/reward", {"reward": 1, "replaces": True}).json() == case
    story = get(server, path).json()
    assert (story["status"], story["reward"], story["by_default"]) == ("rewarded", 1.0, False)
    assert set(story["path"]) == set(story["known"])
    assert post(server, path + "/cancel", {}).status_code == 409
    other = new_case(server)["case"]
    assert post(server, f"{CASES}/{other}/cancel", b"").status_code == 200
    assert get(server, f"{CASES}/{other}").json()["status"] == "cancelled"
    assert post(server, f"{CASES}/{other}/reward", {"reward": 1}).status_code == 409


def test_the_same_key_gets_the_same_bytes_and_another_body_a_conflict(server):
    before = events(server)
    first = post(server, CASES, {}, "one key")
    assert first.status_code == 400
    assert first.json()["detail"].endswith("ASCII without spaces, for example a UUID")
    first = post(server, CASES, {"known": {"mammogram": "low"}}, "one-key")
    again = post(server, CASES, b' { "known" : {"mammogram":"low"} } ', "one-key")
    assert (again.status_code, again.content) == (201, first.content)
    assert events(server) == before + 1
    for path, body in ((CASES, {}), (f"{CASES}/{first.json()['case']}/cancel", {})):
        refused = post(server, path, body, "one-key")
        assert refused.status_code == 409
        assert refused.json()["errors"][0]["pointer"] == "header:Idempotency-Key"
    assert events(server) == before + 1


def test_a_key_and_half_a_character_are_refused_in_plain_words(server):
    before = events(server)
    path = CASES.removesuffix("/cases") + "/batch"
    refused = post(server, path, [{"key": "a b", "open": {}}])
    assert refused.status_code == 422
    assert refused.json()["detail"] == (
        "0/key: expected 1 to 200 characters of ASCII without spaces, for example a UUID"
    )
    for body in (rb'{"known":{"mri":"\ud800"}}', rb'{"known":{"mri":"\ud800 and more"}}'):
        refused = post(server, CASES, body)
        assert refused.status_code == 400
        assert "surrogate" in refused.json()["detail"]
    assert events(server) == before


def test_of_a_name_that_stands_twice_the_last_counts(server):
    opened = post(server, CASES, b'{"known":{"mri":"pos","mri":"neg"},"stake":3,"stake":2}')
    story = get(server, f"{CASES}/{opened.json()['case']}").json()
    assert (story["known"], story["stake"]) == ({"mri": "neg"}, 2.0)


def test_a_batch_is_answered_item_by_item(server):
    before = events(server)
    items = [
        {"key": "batch-1", "open": {}},
        {"key": "batch-1", "open": {}},
        {"key": "batch-2", "case": 10**9, "reward": {"reward": 1}},
        {"key": "batch-3", "open": {"known": {"mri": "purple"}}},
        {"key": "batch-4", "open": {}},
    ]
    answers = post(server, "/v1/projects/clinic/batch", items).json()
    assert [a["status"] for a in answers] == [201, 201, 404, 422, 201]
    assert answers[0] == answers[1]
    assert answers[4]["answer"]["case"] == answers[0]["answer"]["case"] + 1
    assert "purple" in answers[3]["problem"]["detail"]
    assert events(server) == before + 2
    again = post(server, "/v1/projects/clinic/batch", items).json()
    assert again == answers
    case = answers[4]["answer"]["case"]
    for bad in (
        [],
        [{"key": "x"}],
        [{"key": "x", "open": {}, "case": 1}],
        [{"key": "x", "reward": {"reward": 1}}],
        [{"key": "x", "case": case, "reward": {"reward": 1}, "cancel": {}}],
        [{"key": f"many-{k}", "open": {}} for k in range(1001)],
        {"key": "x", "open": {}},
    ):
        assert post(server, "/v1/projects/clinic/batch", bad).status_code == 422
    assert events(server) == before + 2


def test_what_can_be_read(server, replan):
    case = finished(server)["case"]
    assert post(server, f"{CASES}/{case}/reward", {"reward": 1}).status_code == 200
    summary = get(server, "/v1/projects/clinic/summary").json()
    assert sum(summary["statuses"].values()) == summary["cases"] > 0
    assert summary["spend"] == sum(day["spend"] for day in summary["days"])
    policy = get(server, "/v1/projects/clinic/policy").json()
    assert {"value", "text", "tree"} == set(policy["follows"]) == set(policy["recommends"])
    replan()
    worth = get(server, "/v1/projects/clinic/worth").json()
    assert [o["cost"] for o in worth["observations"]] == [1.0, 9.0]
    for o in worth["observations"]:
        assert o["adds_low"] <= o["adds"] <= o["adds_high"]
        assert o["verdict"] in ("pays", "does not pay", "not known yet")
        assert o["demand_band"][0]["price"] == 0.0
    assert worth["still_to_learn"]["low"] <= worth["still_to_learn"]["value"]
    summary = get(server, "/v1/projects/clinic/summary").json()
    assert summary["still_to_learn"] == worth["still_to_learn"]
    lines = get(server, "/v1/projects/clinic/events").text.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, events(server) + 1))
    assert len(get(server, "/v1/projects/clinic/events?after=3").text.splitlines()) == (
        len(lines) - 3
    )
    newest = get(server, f"{CASES}?limit=2").json()["cases"]
    assert [c["case"] for c in newest] == [summary["cases"], summary["cases"] - 1]
    assert [p["name"] for p in get(server, "/v1/projects").json()["projects"]] == ["clinic"]
    counted = f'askwise_cases{{project="clinic"}} {summary["cases"]:.1f}'
    until(lambda: counted in get(server, "/metrics").text)  # it looks about once a second
    assert (
        'askwise_requests_total{route="/v1/projects/{project}/cases"'
        in get(server, "/metrics").text
    )
    for path in ("/healthz", "/readyz"):
        assert get(server, path, token="none").status_code == 200
    page = get(server, "/", token="none")
    assert page.status_code == 200
    assert page.headers["content-security-policy"].startswith("default-src 'self'")


def test_a_live_stream_says_what_changes(server):
    with httpx.stream(
        "GET",
        server.url + "/v1/projects/clinic/live",
        headers={"authorization": f"Bearer {server.token}"},
        timeout=PATIENCE,
    ) as response:
        said = (json.loads(line[6:]) for line in response.iter_lines() if line.startswith("data"))
        before = next(said)
        new_case(server)
        after = next(said)
    assert after["cases"] > before["cases"]


# --- openapi -------------------------------------------------------------------------------------


def test_the_document_names_every_call(server):
    document = get(server, "/openapi.json", token="none").json()
    assert document["openapi"].startswith("3.")
    calls = {(m.upper(), p) for p, methods in document["paths"].items() for m in methods}
    assert len(calls) == 37
    assert ("GET", "/metrics") in calls
    assert ("POST", "/v1/projects/{project}/cases/{case}/reward") in calls
    text = json.dumps(document)
    for name in ("NewProject", "CaseAnswer", "ProblemDetails"):
        assert f'"#/components/schemas/{name}"' in text
        assert name in document["components"]["schemas"]


def test_what_must_be_planned_for_one_case_is_planned_aside(tmp_path, monkeypatch):
    """A set is chosen anew for a case with something on file: no other request waits for that."""
    from askwise.learners.joint_strategy import JointStrategy

    threads, real = [], JointStrategy.plan_for_case

    def plans(self, *arguments):
        threads.append(threading.current_thread().name)
        return real(self, *arguments)

    monkeypatch.setattr(JointStrategy, "plan_for_case", plans)
    with served(str(tmp_path / "ledger.db")) as server:
        chosen = {"name": "learner", "options": {"acquisition": "simultaneous"}}
        body = {"name": "sets", "problem": as_json(PROBLEM), "learner": chosen}
        assert post(server, "/v1/projects", body).status_code == 201
        until(lambda: 'askwise_cases{project="sets"}' in get(server, "/metrics").text)
        opened = post(server, "/v1/projects/sets/cases", {"known": {"mri": "neg"}})
        assert opened.status_code == 201
        items = [
            {"key": "a", "open": {"known": {"mammogram": "low"}}},
            {"key": "b", "open": {"known": {"mri": "purple"}}},
        ]
        answers = post(server, "/v1/projects/sets/batch", items).json()
        assert [item["status"] for item in answers] == [201, 422]
    assert len(threads) == 2
    assert all(name.startswith("openings") for name in threads), threads
