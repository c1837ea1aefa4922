"""Who may ask: pages from elsewhere, tokens that nobody knows, and tokens that were revoked."""

import json
import secrets
import socket
import threading
import time

import pytest

from askwise.service.ledger import open_ledger
from askwise.service.ledger.sql import SqlLedger
from askwise.service.tokens import digest_of, new_token
from service_calls import CASES, as_json, get, post, send
from serving import PROBLEM, served
from waiting import PATIENCE, until

BATCH = "/v1/projects/clinic/batch"
OPENING = b'[{"key":"k","open":{}}]'


@pytest.fixture(name="unlocked")
def unlocked_fixture(tmp_path):
    """A server that asks for no token, as `askwise serve --no-tokens` is."""
    with served(str(tmp_path / "ledger.db"), authenticates=False) as server:
        assert post(
            server, "/v1/projects", {"name": "clinic", "problem": as_json(PROBLEM)}
        ).is_success
        yield server


def opened(server):
    return get(server, "/v1/projects/clinic").json()["cases"]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://elsewhere.example", "content-type": "application/json"},
        {"origin": "null", "content-type": "application/json"},
        {"origin": "http://127.0.0.1:1", "content-type": "application/json"},
        {"sec-fetch-site": "cross-site", "content-type": "application/json"},
        {"sec-fetch-site": "same-site", "content-type": "application/json"},
        {"content-type": "text/plain"},
        {"content-type": ""},
        {"content-type": "application/x-www-form-urlencoded"},
    ],
    ids=lambda headers: " ".join(f"{k}={v}" for k, v in headers.items()),
)
def test_a_page_from_elsewhere_cannot_write(unlocked, headers):
    request = unlocked.http.build_request("POST", BATCH, content=OPENING, headers=headers)
    if not headers.get("content-type", "x"):
        del request.headers["content-type"]  # a body whose type is not said, as a page can send one
    assert unlocked.http.send(request).status_code in (403, 415)
    assert opened(unlocked) == 0


@pytest.mark.parametrize(
    "headers",
    [{}, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}, {"origin": "own"}],
    ids=str,
)
def test_its_own_page_and_programs_can_write(unlocked, headers):
    if "origin" in headers:
        headers = {"origin": unlocked.url}
    answer = unlocked.http.post(
        BATCH, content=OPENING, headers={"content-type": "application/json"} | headers
    )
    assert answer.status_code == 200
    assert opened(unlocked) == 1


def test_a_token_that_nobody_knows_is_not_looked_for_on_the_loop(tmp_path, monkeypatch):
    """While the database is slow, whoever has a good token is answered all the same."""
    real = SqlLedger.tokens
    is_slow, asked, goes_on = (threading.Event() for _ in range(3))

    def tokens(self):
        if is_slow.is_set():
            asked.set()
            assert goes_on.wait(PATIENCE)
        return real(self)

    with served(str(tmp_path / "ledger.db")) as server:
        get(server, "/v1/token")
        monkeypatch.setattr(SqlLedger, "tokens", tokens)
        is_slow.set()
        answers = []
        stranger = threading.Thread(
            target=lambda: answers.append(
                send(server, "GET", "/v1/token", token="askw_" + secrets.token_urlsafe(32))
            )
        )
        stranger.start()
        assert asked.wait(PATIENCE)
        time.sleep(0.2)  # the search of the stranger's token has begun by now
        assert get(server, "/v1/token").status_code == 200
        assert not answers
        is_slow.clear()
        goes_on.set()
        stranger.join(PATIENCE)
        assert answers[0].status_code == 401


def test_a_token_that_was_just_made_is_found(tmp_path):
    with served(str(tmp_path / "ledger.db")) as server:
        for _ in range(3):
            token, kept = new_token("read")
            ledger = open_ledger(str(tmp_path / "ledger.db"))
            ledger.add_token(kept)
            ledger.close()
            assert get(server, "/v1/token", token=token).json()["scope"] == "read"


@pytest.mark.parametrize("path", ["/v1/projects/clinic/cases", "/v1/projects/clinic/batch"])
def test_a_body_that_comes_after_its_token_was_revoked_is_refused(tmp_path, path):
    with served(str(tmp_path / "ledger.db")) as server:
        body = {"name": "clinic", "problem": as_json(PROBLEM)}
        token = post(server, "/v1/projects", body).json()["token"]
        late = b"{}" if path.endswith("cases") else OPENING
        head = [
            f"POST {path} HTTP/1.1",
            f"Host: 127.0.0.1:{server.port}",
            f"Authorization: Bearer {token}",
            "Content-Type: application/json",
            "Idempotency-Key: late",
            f"Content-Length: {len(late)}",
        ]
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as client:
            client.sendall("\r\n".join([*head, "", ""]).encode() + late[:1])
            ledger = open_ledger(str(tmp_path / "ledger.db"))
            assert ledger.revoke_token(digest_of(token).hex()[:12], 1)
            ledger.close()
            until(lambda: get(server, "/v1/token", token=token).status_code == 401)
            client.sendall(late[1:])
            assert client.recv(64).startswith(b"HTTP/1.1 401")
        assert opened(server) == 0


def test_what_is_live_ends_with_its_token(tmp_path):
    with served(str(tmp_path / "ledger.db")) as server:
        body = {"name": "clinic", "problem": as_json(PROBLEM)}
        token = post(server, "/v1/projects", body).json()["token"]
        headers = {"authorization": f"Bearer {token}"}
        with server.http.stream("GET", "/v1/projects/clinic/live", headers=headers) as answer:
            lines = answer.iter_lines()
            assert json.loads(next(lines).removeprefix("data: "))["policy_version"] == 1
            ledger = open_ledger(str(tmp_path / "ledger.db"))
            assert ledger.revoke_token(digest_of(token).hex()[:12], 1)
            ledger.close()
            for _ in lines:  # it comes to its end, before the client's time is up
                pass
        assert post(server, CASES, {}, token=token).status_code == 401
