"""The service over HTTP: what it answers, what it refuses, and that refusing changes nothing."""

import asyncio
import json
import secrets
import threading
import time

import httpx
import msgspec
import pytest

import askwise as aw
from askwise.errors import LedgerError, OptionError
from askwise.service.api.refusals import Refusal
from askwise.service.decisions import writer as writer_module
from askwise.service.decisions.replay import verify
from askwise.service.ledger import open_ledger
from askwise.service.settings import Settings
from askwise.service.tokens import TokenCache, check_scope, digest_of, new_token
from serving import PROBLEM, served

CASES = "/v1/projects/clinic/cases"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(str(tmp_path_factory.mktemp("server") / "ledger.db")) as server:
        both = {"name": "fixed-set", "options": {"observations": ["mammogram", "mri"]}}
        body = {"name": "clinic", "problem": as_json(PROBLEM), "learner": both}
        assert post(server, "/v1/projects", body).status_code == 201
        assert new_case(server)["case"] == 1  # it goes on looking
        yield server


def as_json(problem):
    return msgspec.to_builtins(problem)


def send(server, method, path, content=b"", *, token=None, **headers):
    token = server.token if token is None else token
    headers = {k.replace("_", "-"): v for k, v in headers.items()}
    return server.http.request(
        method,
        path,
        content=content,
        headers={"authorization": f"Bearer {token}", "content-type": "application/json"} | headers,
    )


def post(server, path, body, key=None, **more):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    key = key or secrets.token_hex(8)
    return send(server, "POST", path, content, idempotency_key=key, **more)


def get(server, path, **more):
    return send(server, "GET", path, **more)


def new_case(server):
    answer = post(server, CASES, {})
    assert answer.status_code == 201
    return answer.json()


def finished(server):
    """A case that has its action."""
    case = new_case(server)
    values = {"mammogram": "low", "mri": None}
    while case["wanted"]:
        path = f"{CASES}/{case['case']}/observations"
        case = post(server, path, {"values": {n: values[n] for n in case["wanted"]}}).json()
    return case


def events(server):
    return get(server, "/v1/projects/clinic").json()["events"]


# --- a case, from the door to its reward ---------------------------------------------------------


def test_a_case_is_answered_step_by_step_and_its_story_can_be_read(server):
    case = finished(server)
    likely = case.pop("propensity")
    assert set(case) == {"case", "wanted", "action", "cost", "policy_version"}
    assert case["action"] in PROBLEM.actions
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
    assert first.status_code == 400  # a space is not printable enough
    first = post(server, CASES, {"known": {"mammogram": "low"}}, "one-key")
    again = post(server, CASES, b' { "known" : {"mammogram":"low"} } ', "one-key")
    assert (again.status_code, again.content) == (201, first.content)
    assert events(server) == before + 1
    for path, body in ((CASES, {}), (f"{CASES}/{first.json()['case']}/cancel", {})):
        refused = post(server, path, body, "one-key")
        assert refused.status_code == 409
        assert refused.json()["errors"][0]["pointer"] == "header:Idempotency-Key"
    assert events(server) == before + 1


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


def test_what_can_be_read(server):
    finished(server)
    summary = get(server, "/v1/projects/clinic/summary").json()
    assert sum(summary["statuses"].values()) == summary["cases"] > 0
    assert summary["spend"] == sum(day["spend"] for day in summary["days"])
    policy = get(server, "/v1/projects/clinic/policy").json()
    assert {"value", "text", "tree"} == set(policy["follows"]) == set(policy["recommends"])
    worth = get(server, "/v1/projects/clinic/worth").json()
    assert [o["cost"] for o in worth["observations"]] == [1.0, 9.0]
    lines = get(server, "/v1/projects/clinic/events").text.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, events(server) + 1))
    assert len(get(server, "/v1/projects/clinic/events?after=3").text.splitlines()) == (
        len(lines) - 3
    )
    newest = get(server, f"{CASES}?limit=2").json()["cases"]
    assert [c["case"] for c in newest] == [summary["cases"], summary["cases"] - 1]
    assert [p["name"] for p in get(server, "/v1/projects").json()["projects"]] == ["clinic"]
    counted = f'askwise_cases{{project="clinic"}} {summary["cases"]:.1f}'
    for _ in range(100):  # a server looks at its projects about once a second
        text = get(server, "/metrics").text
        if counted in text:
            break
        time.sleep(0.1)
    assert counted in text
    assert 'askwise_requests_total{route="/v1/projects/{project}/cases"' in text
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
        timeout=10,
    ) as response:
        said = (json.loads(line[6:]) for line in response.iter_lines() if line.startswith("data"))
        before = next(said)
        new_case(server)
        after = next(said)
    assert after["cases"] > before["cases"]


# --- refusals ------------------------------------------------------------------------------------

REWARD = f"{CASES}/1/reward"
BAD = [
    (REWARD, b'{"reward": NaN}', 400),
    (REWARD, b'{"reward": Infinity}', 400),
    (REWARD, b'{"reward": 1e999}', 422),
    (REWARD, b'{"reward": -0.1}', 422),
    (REWARD, b'{"reward": 1.1}', 422),
    (REWARD, b'{"reward": true}', 422),
    (REWARD, b'{"reward": "1"}', 422),
    (REWARD, b'{"reward": 1, "extra": 2}', 422),
    (REWARD, b'{"reward": 1, "default": true, "replaces": true}', 422),
    (REWARD, b'{"reward": 1', 400),
    (REWARD, b'{"reward": 1} x', 400),
    (REWARD, b"{}", 422),
    (REWARD, b"[]", 422),
    (REWARD, b"\xff\xfe", 400),
    (CASES, b'{"known": {"mri": "\xff"}}', 400),
    (CASES, b'{"known": {"mri": "purple"}}', 422),
    (CASES, b'{"known": {"other": "neg"}}', 422),
    (CASES, b'{"known": {"mri": true}}', 422),
    (CASES, b'{"known": {"mri": 1e400}}', 422),
    (CASES, b'{"known": {"mri": 1' + b"0" * 400 + b"}}", 422),
    (CASES, b'{"known": {"mri": {}}}', 422),
    (CASES, b"[" * 100_000, 422),
    (f"{CASES}/1/observations", b'{"values": {}}', 422),
    (f"{CASES}/1/observations", b'{"values": {"mri": "neg"}, "paid": {"mri": 1e300}}', 422),
    (f"{CASES}/1/observations", b'{"values": {"mri": "neg"}, "paid": {"mri": -1}}', 422),
    (f"{CASES}/99999/reward", b'{"reward": 1}', 404),
    (f"{CASES}/0/reward", b'{"reward": 1}', 404),
    (f"{CASES}/-1/reward", b'{"reward": 1}', 404),
    (f"{CASES}/9999999999999999999999/reward", b'{"reward": 1}', 404),
    ("/v1/projects/none/cases", b"{}", 404),
    ("/v1/projects/clinic/other", b"{}", 404),
    ("/v1/projects", b'{"name": "x", "problem": {}}', 422),
    ("/v1/projects", b'{"name": "a b", "problem": {}}', 422),
    ("/v1/projects", b'{"name": "x", "learner": ' + b"[" * 50 + b"]" * 50 + b"}", 400),
]


@pytest.mark.parametrize(("path", "body", "status"), BAD)
def test_bad_input_is_refused_by_name_and_changes_nothing(server, path, body, status):
    before = get(server, "/v1/projects/clinic/summary").content, events(server)
    answer = post(server, path, body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    details = answer.json()
    assert details["status"] == status
    assert details["detail"]
    assert (get(server, "/v1/projects/clinic/summary").content, events(server)) == before


@pytest.mark.parametrize(
    ("learner", "says"),
    [
        ({"name": "magic"}, "unknown learner 'magic'"),
        ({"name": "policy-ucb"}, "cannot be served"),
        ({"options": {"window": 100}}, "cannot forget"),
        ({"options": {"detect": True}}, "cannot forget"),
        ({"options": {"colour": 1}}, "no option 'colour'"),
        ({"options": {"rng": 1}}, "no option 'rng'"),
        ({"options": {"acquisition": "never"}}, "acquisition must be"),
        ({"name": "seq-oos", "options": {"width": "wide"}}, "width"),
    ],
)
def test_learners_that_cannot_be_served_are_refused(server, learner, says):
    body = {"name": "other", "problem": as_json(PROBLEM), "learner": learner}
    answer = post(server, "/v1/projects", body)
    assert answer.status_code == 422
    assert says in answer.json()["detail"]
    assert get(server, "/v1/projects/other").status_code == 404


def test_a_project_is_created_once_and_its_token_shown_once(server):
    body = {"name": "second", "problem": as_json(PROBLEM), "learner": {"name": "seq-oos"}}
    first = post(server, "/v1/projects", body, "create-second")
    again = post(server, "/v1/projects", body, "create-second")
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json()["token"].startswith("askw_")
    assert again.json() == first.json() | {"token": None}
    assert post(server, "/v1/projects", body).status_code == 409
    mine = first.json()["token"]
    assert post(server, "/v1/projects/second/cases", {}, token=mine).status_code == 201
    assert post(server, CASES, {}, token=mine).status_code == 403
    seen = get(server, "/v1/projects", token=mine).json()["projects"]
    assert [project["name"] for project in seen] == ["second"]
    assert seen[0]["learner"] == {"name": "seq-oos", "options": {}}
    assert "'second' only" in get(server, "/metrics", token=mine).json()["detail"]
    assert "the scope admin" in post(server, "/v1/projects", body, token=mine).json()["detail"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"reward": 2.0}, "#/reward"),
        ({"reward": True}, "#/reward"),
        ({"reword": 1.0}, "#/reword"),
        ({"reward": 1.0, "a/b": 0}, "#/a~1b"),
        ({}, "#/reward"),
    ],
)
def test_a_refusal_names_the_field(server, body, pointer):
    case = post(server, CASES, {}).json()["case"]
    refused = post(server, f"{CASES}/{case}/reward", body)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == pointer
    assert refused.json()["detail"].startswith(f"{pointer[2:]}: ")


def test_who_has_no_token_gets_nothing(server):
    for token in ("x", "askw_" + "A" * 43, server.token + "x", server.token[:-1]):
        answer = get(server, "/v1/projects/clinic", token=token)
        assert answer.status_code == 401
        assert "bearer" in answer.headers["www-authenticate"].lower()
    bare = httpx.get(server.url + "/v1/projects")
    assert bare.status_code == 401
    assert httpx.get(server.url + "/metrics").status_code == 401


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", [CASES, "/v1/projects", "/healthz", "/"])
def test_other_methods_are_refused(server, method, path):
    answer = send(server, method, path)
    assert answer.status_code == 405
    assert "GET" in answer.headers["allow"]
    assert "access-control-allow-origin" not in answer.headers


def test_other_hosts_kinds_and_arguments_are_refused(server):
    refused = get(server, "/healthz", host="evil.example")
    assert refused.status_code == 421
    assert "'evil.example'; --allow-host adds one" in refused.json()["detail"]
    assert get(server, "/healthz", host=f"localhost:{server.port}").status_code == 200
    assert post(server, CASES, {}, content_type="text/plain").status_code == 415
    assert (
        post(server, CASES, {}, content_type="application/json; charset=utf-8").status_code == 201
    )
    assert send(server, "POST", CASES, b"{}").status_code == 400  # without a key
    assert post(server, CASES, {}, "k" * 201).status_code == 400
    for query in (
        "limit=0",
        "limit=501",
        "limit=x",
        "limit=1&limit=2",
        "colour=red",
        "limit=-1",
        "limit&" * 30,
    ):
        assert get(server, f"{CASES}?{query}").status_code == 400
    assert get(server, "/v1/projects/clinic/policy?version=2").status_code == 400
    assert get(server, "/v1/projects/%ff/policy").status_code == 400


# --- the wire ------------------------------------------------------------------------------------


def test_a_body_is_cut_off_where_it_is_too_large(server):
    head = f"POST {CASES} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n"
    head = head.encode()
    answer = server.raw(head + b"Content-Length: 1000000000\r\n\r\n" + b"x" * 200_000)
    assert answer.startswith(b"HTTP/1.1 413 ")
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    answer = server.raw(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 20)
    assert answer.startswith(b"HTTP/1.1 413 ")
    answer = server.raw(b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 40_000)
    assert answer.startswith(b"HTTP/1.1 431 ")


def test_chunks_pipelines_and_continue(server):
    auth = f"Host: localhost\r\nAuthorization: Bearer {server.token}\r\n"
    head = f"POST {CASES} HTTP/1.1\r\n{auth}Idempotency-Key: chunks\r\n".encode()
    head += b"Content-Type: application/json\r\n"
    body = b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
    last = f"GET /v1/projects HTTP/1.1\r\n{auth}Connection: close\r\n\r\n".encode()
    answer = server.raw(head + body + last)
    first, second = answer.split(b"HTTP/1.1 ")[1:]
    assert first.startswith(b"201")
    assert second.startswith(b"200")
    assert b"connection: close" in second
    waits = b"Expect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
    answer = server.raw(head + waits)
    assert answer.startswith(b"HTTP/1.1 100 ")
    assert b"HTTP/1.1 201 " in answer


CLOSE = b"HTTP/1.1\r\nConnection: close\r\n"

SMUGGLED = [
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length : 1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n folded\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/2.0\r\nHost: a\r\n\r\n",
    b"get / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n",
]


@pytest.mark.parametrize("request_bytes", SMUGGLED)
def test_what_two_parsers_might_read_differently_is_refused(server, request_bytes):
    """By the parser, or because nobody here is called `a`."""
    answers = server.raw(request_bytes.replace(b"HTTP/1.1\r\n", CLOSE, 1))
    assert answers.count(b"HTTP/1.1 ") == 1
    assert answers.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 421 ", b"HTTP/1.1 50"))


# --- openapi -------------------------------------------------------------------------------------


def test_the_document_names_every_call(server):
    document = get(server, "/openapi.json", token="none").json()
    assert document["openapi"].startswith("3.")
    calls = {(m.upper(), p) for p, methods in document["paths"].items() for m in methods}
    assert len(calls) == 20
    assert ("GET", "/metrics") in calls
    assert ("POST", "/v1/projects/{project}/cases/{case}/reward") in calls
    text = json.dumps(document)
    for name in ("NewProject", "CaseAnswer", "ProblemDetails"):
        assert f'"#/components/schemas/{name}"' in text
        assert name in document["components"]["schemas"]


# --- what must never happen ----------------------------------------------------------------------


def test_no_secret_is_logged_or_kept(tmp_path, capfd):
    path = tmp_path / "ledger.db"
    with served(str(path)) as server:
        planted = "askw_planted-secret"
        get(server, f"/v1/projects/none?token={planted}", token=planted)
        get(server, f"/v1/projects?token={planted}")
        post(server, "/v1/projects", {"name": "clinic", "problem": as_json(PROBLEM)})
        post(server, CASES, {"known": {planted: planted}}, token=planted)
        close = f"Connection: close\r\nAuthorization: {planted}"
        server.raw(f"GET /{planted} HTTP/1.1\r\n{close}\r\n\r\n".encode())
        token = server.token
    said = "".join(capfd.readouterr())
    assert '"what":"serving"' in said
    assert '"what":"project created"' in said
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    for secret in (token, planted):
        assert secret not in said
        assert secret.encode() not in kept
    assert digest_of(token) in kept


def test_tokens_are_revoked_and_scoped(tmp_path):
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    book = TokenCache(ledger)
    shown, kept = new_token("decide", "clinic")
    header = f"Bearer {shown}".encode()
    ledger.add_token(kept)
    assert book.find(header) is None
    book.search()
    assert book.find(header) == kept
    check_scope(kept, "read", "clinic")
    check_scope(kept, "decide", "clinic")
    for scope, project in (("admin", "clinic"), ("read", "other"), ("read", "")):
        with pytest.raises(Refusal) as refused:
            check_scope(kept, scope, project)
        assert refused.value.status == 403
    ledger.revoke_token(kept.id, 1)
    book.refresh()
    assert book.find(header) is None
    assert len({new_token("read")[0] for _ in range(50)}) == 50
    with pytest.raises(OptionError, match="unknown scope"):
        new_token("root")
    ledger.close()


def test_without_tokens_only_loopback_is_listened_to(tmp_path):
    for host in ("0.0.0.0", "192.0.2.1", "::", "example.com"):
        with pytest.raises(OptionError, match="without tokens"):
            Settings(host=host, authenticates=False)
    Settings(host="::1", authenticates=False)
    with served(str(tmp_path / "ledger.db"), authenticates=False) as server:
        assert httpx.get(server.url + "/v1/projects").status_code == 200


def test_a_full_queue_says_come_again_and_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(writer_module, "MOST_WAITING", 3)
    path = str(tmp_path / "ledger.db")
    with served(path) as server:
        post(server, "/v1/projects", {"name": "clinic", "problem": as_json(PROBLEM)})
        post(server, CASES, {})
        ledger = open_ledger(path)

        async def flood():
            async with httpx.AsyncClient(timeout=30) as client:
                headers = {"authorization": f"Bearer {server.token}"}

                async def one(k):
                    return await client.post(
                        server.url + CASES, headers=headers | {"idempotency-key": f"flood-{k}"}
                    )

                return await asyncio.gather(*(one(k) for k in range(30)))

        holds, done = threading.Event(), threading.Event()

        def hold():
            with ledger.transaction():
                holds.set()
                done.wait(1.0)

        holder = threading.Thread(target=hold)
        holder.start()
        holds.wait()
        answers = asyncio.run(flood())
        holder.join()
        codes = [a.status_code for a in answers]
        assert set(codes) == {201, 503}
        refused = next(a for a in answers if a.status_code == 503)
        assert int(refused.headers["retry-after"]) >= 1
        assert events(server) == 1 + codes.count(201)
        assert verify(ledger, "clinic").differences == []
        ledger.close()


def test_a_ledger_that_fails_is_a_503_and_the_server_recovers(tmp_path, monkeypatch):
    path = str(tmp_path / "ledger.db")
    with served(path) as server:
        post(server, "/v1/projects", {"name": "clinic", "problem": as_json(PROBLEM)})
        from askwise.service.ledger.sql import SqlTransaction

        def full(*_):
            raise LedgerError("database or disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(SqlTransaction, "append", full)
            answer = post(server, CASES, {}, "retried")
            assert answer.status_code == 503
            assert "same key" in answer.json()["detail"]
        assert events(server) == 0
        assert post(server, CASES, {}, "retried").json()["case"] == 1


def test_a_request_that_nobody_foresaw_fails_alone(tmp_path, monkeypatch):
    path = str(tmp_path / "ledger.db")
    with served(path) as server:
        post(server, "/v1/projects", {"name": "clinic", "problem": as_json(PROBLEM)})
        from askwise.service.decisions.case_decider import CaseDecider

        real = CaseDecider.open

        def breaks(self, number, planned, body, at):
            step = real(self, number, planned, body, at)  # counted, and then
            if body.known:
                raise ZeroDivisionError("unforeseen")
            return step

        monkeypatch.setattr(CaseDecider, "open", breaks)
        items = [
            {"key": f"k{k}", "open": {"known": {"mri": "neg"}} if k == 2 else {}} for k in range(5)
        ]
        answers = post(server, "/v1/projects/clinic/batch", items).json()
        assert [a["status"] for a in answers] == [201, 201, 500, 201, 201]
        assert events(server) == 4
        monkeypatch.undo()
        ledger = open_ledger(path)
        assert verify(ledger, "clinic").differences == []
        ledger.close()


def test_a_server_that_stops_answers_what_it_has_accepted(tmp_path):
    path = str(tmp_path / "ledger.db")
    with served(path) as server:
        post(server, "/v1/projects", {"name": "clinic", "problem": as_json(PROBLEM)})
        post(server, CASES, {})
        ledger = open_ledger(path)
        answers, holds = [], threading.Event()

        def hold():
            with ledger.transaction():
                holds.set()
                time.sleep(0.5)

        holder = threading.Thread(target=hold)
        holder.start()
        holds.wait()
        asking = threading.Thread(target=lambda: answers.append(post(server, CASES, {}, "late")))
        asking.start()
        time.sleep(0.2)  # the request is in the queue, which cannot write yet
        server.stop()
        asking.join()
        holder.join()
        assert answers[0].status_code == 201
        assert verify(ledger, "clinic").events == 2
        ledger.close()


def test_a_server_that_stops_does_not_wait_for_idle_clients(tmp_path):
    with served(str(tmp_path / "ledger.db")) as server:
        assert server.http.get("/healthz").status_code == 200  # and the connection is kept
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 10


def test_a_restart_goes_on_with_every_case(tmp_path):
    path = str(tmp_path / "ledger.db")
    problem = aw.Problem(
        observations=[
            aw.Observation("sex", values=["f", "m"], given=True),
            aw.Observation("age", edges=[40, 60], cost=1.0),
            aw.Observation("ecg", values=["good", "bad"], cost=2.0),
        ],
        panels=[aw.Panel(observations=["age", "ecg"], fee=3.0)],
        actions=["wait", "treat"],
        reward_value=50.0,
    )
    learner = {"name": "fixed-set", "options": {"observations": ["age", "ecg"]}}
    with served(path) as server:
        body = {"name": "clinic", "problem": as_json(problem), "learner": learner}
        assert post(server, "/v1/projects", body).status_code == 201
        assert post(server, CASES, {}).status_code == 422  # what is given is missing
        case = post(server, CASES, {"known": {"sex": "f"}}).json()
        assert case["wanted"] == ["age", "ecg"]
        path_of = f"{CASES}/{case['case']}/observations"
        half = post(server, path_of, {"values": {"age": 47.5}, "paid": {"age": 1.25}}).json()
        assert (half["wanted"], half["cost"]) == (["ecg"], 4.25)
        filed = post(server, CASES, {"known": {"sex": "m", "ecg": "bad"}}).json()
        assert (filed["wanted"], filed["cost"]) == (["age"], 0.0)
    with served(path) as server:
        done = post(server, path_of, {"values": {"ecg": "bad"}}).json()
        assert (done["wanted"], done["cost"]) == ([], 6.25)
        assert get(server, f"{CASES}/1").json()["known"] == {
            "sex": "f",
            "age": "40-60",
            "ecg": "bad",
        }
    ledger = open_ledger(path)
    assert verify(ledger, "clinic").differences == []
    ledger.close()


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
        while 'askwise_cases{project="sets"}' not in get(server, "/metrics").text:
            time.sleep(0.01)
        opened = post(server, "/v1/projects/sets/cases", {"known": {"mri": "neg"}})
        assert opened.status_code == 201
        items = [
            {"key": "a", "open": {"known": {"mammogram": "low"}}},
            {"key": "b", "open": {"known": {"mri": "purple"}}},
        ]
        answers = post(server, "/v1/projects/sets/batch", items).json()
        assert [item["status"] for item in answers] == [201, 422]
    assert len(threads) == 2
    assert all(name.startswith("reader") for name in threads), threads


def test_a_newline_at_the_end_is_no_part_of_a_name_or_a_key(server):
    body = {"name": "second\n", "problem": as_json(PROBLEM)}
    refused = post(server, "/v1/projects", body)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "#/name"
    refused = post(server, "/v1/projects/clinic/batch", [{"key": "key\n", "open": {}}])
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"].endswith("/key")
    document = msgspec.json.encode(get(server, "/openapi.json").json()["components"]["schemas"])
    assert b"{0,63}$" in document  # as JavaScript has it
    assert b"\\\\Z" not in document
