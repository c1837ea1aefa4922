"""The service against its own OpenAPI document: Schemathesis asks whatever that lets one ask."""

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec
import pytest

from askwise.service.api.calls import CALLS
from askwise.service.api.messages import EventLine
from askwise.service.backend.metrics import CONTENT_TYPE
from askwise.service.decisions.replay import verify
from askwise.service.ledger import open_ledger
from serving import PROBLEM, served
from waiting import PATIENCE

SEES = {"mammogram": "low", "mri": "neg"}
LIVES = (
    [("open", {"known": SEES}), ("reward", {"reward": 0.5})],
    [("open", {"known": SEES}), ("reward", {"reward": 0.5, "default": True})],
    [("open", {"known": SEES})],
    [("open", {})],
    [("open", {}), ("observations", {"values": {"mammogram": "high"}})],
    [("open", {}), ("cancel", {})],
)
"""Cases in each stage of their life."""

CASES = range(1, 4 * len(LIVES) + 1)
"""Several of each, for Schemathesis soon cancels what can be cancelled."""

CONFIG = f"""
[dictionaries]
projects.values = ["clinic"]
cases.values = {list(CASES)}
keys.values = {[f"key-{k}" for k in range(100)]}

[parameters]
"path.project" = {{ dictionary = "projects", probability = 0.95 }}
"path.case" = {{ dictionary = "cases", probability = 0.95 }}
"header.Idempotency-Key" = {{ dictionary = "keys", probability = 0.9 }}
"""
"""Made-up names are seldom those of something that exists, and made-up keys seldom new."""

ARGUMENTS = (
    "--phases=examples,coverage,fuzzing,stateful",
    "--continue-on-failure",
    f"--request-timeout={PATIENCE:.0f}",
    "--no-color",
    "--warnings=off",
    # it has no end, so it would be waited for in vain; tests/service/http/test_handlers.py reads it
    "--exclude-operation-id=live",
    # the document cannot say which observations, values and versions a project has, nor that a case
    # which has its reward gets no other: such requests fit it, and are refused all the same
    "--exclude-checks=positive_data_acceptance",
    # the report is what the events are compared with
    "--report-har-path=har.json",
    "--report-preserve-bytes",
    "--output-sanitize=false",
)
SHORT = ("--max-examples=8", "--generation-deterministic")

SHORTER = ("--max-examples=3", "--generation-deterministic")

OPERATORS = [call.name for call in CALLS if call.handler.startswith("Administration") and call.body]
"""Calls that rename or remove what the others are about: asked in a run of their own."""

KINDS = {
    "cases": "open",
    "observations": "observe",
    "acted": "act",
    "reward": "reward",
    "cancel": "cancel",
}


class Asked(NamedTuple):
    """A request as Schemathesis sent it, and its answer."""

    method: str
    path: list[str]
    """From the name of the project on; of what is about none, each part with its slash."""
    key: str
    body: bytes
    status: int
    kind: str
    answer: bytes


def asked(entry):
    request, response = entry["request"], entry["response"]
    parts = [unquote(part) for part in urlsplit(request["url"]).path.split("/")[2:]]
    keys = [h["value"] for h in request["headers"] if h["name"].lower() == "idempotency-key"]
    return Asked(
        request["method"],
        parts[1:] if parts[:1] == ["projects"] else [f"/{part}" for part in parts],
        keys[0] if keys else "",
        base64.b64decode(request.get("postData", {}).get("text", "")),
        response["status"],
        response["content"]["mimeType"],
        base64.b64decode(response["content"].get("text", "")),
    )


class Run(NamedTuple):
    """What Schemathesis said and sent, and what the service has written."""

    code: int
    said: str
    requests: list[Asked]
    before: int
    """Events of the clinic."""
    events: dict[str, list[bytes]]
    """By project."""
    db: str


@pytest.fixture(scope="module", name="run")
def run_fixture(tmp_path_factory):
    return explore(tmp_path_factory.mktemp("schema"))


def explore(folder: Path, *more: str) -> Run:
    """Let Schemathesis ask what it likes; `more` says how long, else it is short."""
    (folder / "schemathesis.toml").write_text(CONFIG)
    db = str(folder / "ledger.db")
    with served(db) as server:
        http = server.http
        http.headers["authorization"] = f"Bearer {server.token}"
        both = {"name": "fixed-set", "options": {"observations": list(SEES)}}
        clinic = {"name": "clinic", "problem": msgspec.to_builtins(PROBLEM), "learner": both}
        made = [http.post("/v1/projects", json=clinic, headers={"idempotency-key": "clinic"})]
        for case in CASES:
            for what, body in LIVES[(case - 1) % len(LIVES)]:
                path = "/v1/projects/clinic/cases" + ("" if what == "open" else f"/{case}/{what}")
                key = {"idempotency-key": f"before-{case}-{what}"}
                made.append(http.post(path, json=body, headers=key))
        # here the kernels may be compiled, and nobody waits
        reads = (f"/v1/projects/clinic/{what}" for what in ("policy", "worth"))
        made += [http.get(path) for path in reads]
        assert all(answer.is_success for answer in made)
        before = http.get("/v1/projects/clinic").json()["events"]
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli"),
                *("run", f"{server.url}/openapi.json"),
                *("--header", f"Authorization: Bearer {server.token}"),
                *ARGUMENTS,
                *(more or SHORT),
                *(f"--exclude-operation-id={name}" for name in OPERATORS),
            ],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        names = [p["name"] for p in http.get("/v1/projects").json()["projects"]]
        events = {n: http.get(f"/v1/projects/{n}/events").content.splitlines() for n in names}
    har = folder / "har.json"
    assert har.exists(), done.stdout + done.stderr
    requests = [asked(entry) for entry in json.loads(har.read_bytes())["log"]["entries"]]
    return Run(done.returncode, done.stdout + done.stderr, requests, before, events, db)


def test_whatever_the_document_lets_one_ask_is_answered_as_it_says(run):
    """No 5xx, the statuses, content types, headers and bodies that it names, no call without a
    token, none that breaks a rule it states."""
    assert run.code == 0, run.said
    for phase in ("Examples", "Coverage", "Fuzzing", "Stateful"):
        assert f"✅ {phase}" in run.said, run.said


def test_an_answer_is_what_was_asked_for_or_a_refusal(run):
    """The same by the requests as they were sent, without Schemathesis' word for it."""
    for request in run.requests:
        assert 200 <= request.status < 500, request
        exports = request.path[1:] == ["events"]
        good = "application/x-ndjson" if exports else "application/json"
        if request.answer.startswith(b"# HELP"):
            good = CONTENT_TYPE
        assert request.kind == (good if request.status < 300 else "application/problem+json")
        if request.status >= 400:
            assert json.loads(request.answer)["status"] == request.status
    for line in run.events["clinic"]:
        msgspec.json.decode(line, type=EventLine)


def test_the_requests_came_far_enough(run):
    """That the other tests are about something: each kind of answer, and each call but one."""
    statuses = {request.status for request in run.requests}
    assert statuses >= {200, 201, 400, 401, 404, 405, 409, 415, 422}
    good = {(r.method, *r.path[1:2], *r.path[3:]) for r in run.requests if r.status < 300}
    reads = {("GET", what) for what in ("awaited", "events", "policy", "summary", "worth")}
    assert good >= reads | {("GET",), ("GET", "cases"), ("POST", "cases"), ("POST", "batch")}
    assert good >= {("POST", "cases", "reward"), ("POST", "cases", "cancel")}


def test_what_was_accepted_is_written_in_order_and_what_was_refused_left_nothing(run):
    """The events are the accepted requests, and cases and counters follow from the events alone."""
    accepted = {name: {} for name in run.events}
    for request in run.requests:
        if request.method != "POST" or request.status >= 300:
            continue
        if not request.path:
            assert json.loads(request.answer)["name"] in accepted
            continue
        if request.path[0].startswith("/"):
            continue  # a table that was read, or a link that was used
        of_project = accepted[request.path[0]]
        for key, event in steps(request):
            assert of_project.setdefault(key, event) == event  # the same key, the same answer
    created = {json.loads(r.answer)["name"] for r in run.requests if r.status == 201 and not r.path}
    assert set(accepted) == created | {"clinic"}
    for name, lines in run.events.items():
        events = [json.loads(line) for line in lines[run.before if name == "clinic" else 0 :]]
        written = {e["key"]: (e["kind"], e["status"], e["answer"]) for e in events}
        assert list(written.items()) == list(accepted[name].items())
    assert len(accepted["clinic"]) > 10
    ledger = open_ledger(run.db)
    for name in run.events:
        assert verify(ledger, name).differences == []
    ledger.close()


def steps(request):
    """The accepted steps of cases in a request: of each its key, and what is written of it."""
    what, answer = request.path[-1], json.loads(request.answer)
    if what != "batch":
        yield request.key, (KINDS[what], request.status, answer)
        return
    for item, result in zip(json.loads(request.body), answer, strict=True):
        if result["status"] < 300:
            (asks,) = {"open", "observations", "acted", "reward", "cancel"} & {
                name for name, body in item.items() if body is not None
            }
            yield item["key"], (KINDS.get(asks, asks), result["status"], result["answer"])


def test_what_operators_ask_is_answered_as_the_document_says(tmp_path):
    """Projects are renamed and removed all the while: no 5xx, and what is left is right."""
    (tmp_path / "schemathesis.toml").write_text(CONFIG.replace('["clinic"]', str(NAMES)))
    db = str(tmp_path / "ledger.db")
    with served(db) as server:
        http = server.http
        http.headers["authorization"] = f"Bearer {server.token}"
        for name in NAMES:
            body = {"name": name, "problem": msgspec.to_builtins(PROBLEM)}
            key = {"idempotency-key": f"before-{name}"}
            assert http.post("/v1/projects", json=body, headers=key).is_success
            cases = f"/v1/projects/{name}/cases"
            assert http.post(cases, json={}, headers=key).is_success
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli"),
                *("run", f"{server.url}/openapi.json"),
                *("--header", f"Authorization: Bearer {server.token}"),
                *ARGUMENTS,
                *SHORTER,
                *(f"--include-operation-id={name}" for name in OPERATORS),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert http.get("/v1/projects").is_success  # our own token is still good
    entries = json.loads((tmp_path / "har.json").read_bytes())["log"]["entries"]
    requests = [asked(entry) for entry in entries]
    assert {r.status for r in requests} >= {200, 201, 401, 404, 409, 422}
    ledger = open_ledger(db)
    for project in ledger.projects():
        assert verify(ledger, project.name).differences == []
    while ledger.purge(1000):
        pass
    ledger.close()


NAMES = [f"clinic-{k}" for k in range(6)]
