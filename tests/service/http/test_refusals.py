"""The service over HTTP: what it refuses, and that refusing changes nothing."""

import msgspec
import pytest

import askwise as aw
from askwise.counting import MOST_CASES
from service_calls import CASES, as_json, events, get, new_case, post, send
from serving import PROBLEM

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


HIDDEN = [
    ("name", "clin\u202eic"),
    ("name", "clin\x07ic"),
    ("name", "clinic\u2066"),
    ("observation", "mri\u202e"),
    ("value", "pos\x1b[31m"),
    ("action", "treat\u2067"),
]


@pytest.mark.parametrize(("where", "text"), HIDDEN)
def test_characters_that_are_not_shown_are_in_no_name(server, where, text):
    names = {"name": "hidden", "observation": "mri", "value": "pos", "action": "treat"} | {
        where: text
    }
    problem = {
        "observations": [
            {"name": names["observation"], "values": [names["value"], "neg"], "cost": 1}
        ],
        "actions": [names["action"], "wait"],
    }
    refused = post(server, "/v1/projects", {"name": names["name"], "problem": problem})
    assert refused.status_code == 422, refused.text
    assert where == "name" or f"U+{ord(max(text)):04X}" in refused.text or "U+001B" in refused.text


def test_a_window_has_a_bound(server):
    learner = {"name": "learner", "options": {"window": 10**30}}
    body = {"name": "endless", "problem": as_json(PROBLEM), "learner": learner}
    refused = post(server, "/v1/projects", body)
    assert refused.status_code == 422
    assert f"at most {MOST_CASES:,}" in refused.json()["detail"]
    body["learner"]["options"]["window"] = MOST_CASES
    assert post(server, "/v1/projects", body).status_code == 201


def test_an_unknown_value_is_refused_in_words_of_the_body(server):
    case = new_case(server)
    path = f"{CASES}/{case['case']}/observations"
    refused = post(server, path, {"values": dict.fromkeys(case["wanted"], "purple")})
    assert refused.status_code == 422
    assert "declare other if more may come" in refused.json()["detail"]


def what_happened(server):
    """The summary but for what is still to learn, which is worked out aside, in its own time."""
    summary = get(server, "/v1/projects/clinic/summary").json()
    del summary["still_to_learn"]
    return summary


@pytest.mark.parametrize(("path", "body", "status"), BAD)
def test_bad_input_is_refused_by_name_and_changes_nothing(server, path, body, status):
    before = what_happened(server), events(server)
    answer = post(server, path, body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    details = answer.json()
    assert details["status"] == status
    assert details["detail"]
    assert (what_happened(server), events(server)) == before


@pytest.mark.parametrize(
    ("learner", "says"),
    [
        ({"name": "magic"}, "unknown learner 'magic'"),
        ({"name": "policy-ucb"}, "cannot be served"),
        ({"options": {"window": 7}}, "window must be a whole number of at least 8"),
        ({"options": {"detect": 1}}, "detect must be True or False"),
        ({"options": {"window": 100, "explore_budget": 1.0}}, "not with window or detect"),
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
    bare = server.http.get("/v1/projects")
    assert bare.status_code == 401
    assert server.http.get("/metrics").status_code == 401


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


def test_a_boolean_is_taken_where_it_means_a_declared_value(server):
    problem = aw.Problem(
        observations=[
            aw.Observation("repeat", values=["false", "true"], given=True),
            aw.Observation("late", values=[0, 1], given=True),
            aw.Observation("mri", values=["neg", "pos"], cost=1.0),
        ],
        actions=["wait", "treat"],
    )
    made = post(server, "/v1/projects", {"name": "booleans", "problem": as_json(problem)})
    assert made.status_code == 201, made.text
    cases = "/v1/projects/booleans/cases"
    opened = post(server, cases, {"known": {"repeat": True, "late": False}})
    assert opened.status_code == 201, opened.text
    story = get(server, f"{cases}/{opened.json()['case']}").json()
    assert story["known"] == {"repeat": "true", "late": 0}

    case = new_case(server)
    (name, *_) = case["wanted"]
    answer = post(server, f"{CASES}/{case['case']}/observations", {"values": {name: True}})
    assert answer.status_code == 422
    (flaw,) = answer.json()["errors"]
    assert flaw["pointer"] == "#/values"
    assert f"observation '{name}' has no value True" in flaw["detail"]
    assert "declare values 'true' and 'false'" in flaw["detail"]
