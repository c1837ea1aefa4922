"""Calls of the service over HTTP, for tests."""

import json
import secrets

import msgspec

CASES = "/v1/projects/clinic/cases"


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
