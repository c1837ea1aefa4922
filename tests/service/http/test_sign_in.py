"""The link that is printed at the start: changed for a token once, and good for nothing else."""

import os
import pty
import subprocess
import sys
import threading
import time

import pytest

from askwise.service.ledger import open_ledger
from askwise.service.tokens import SIGN_IN, SIGNED_IN_FOR, new_link
from service_calls import get, post, send
from serving import database_fixture, postgres_fixture, served  # noqa: F401
from waiting import PATIENCE


@pytest.fixture(name="db", scope="module")
def db_fixture(tmp_path_factory):
    return str(tmp_path_factory.mktemp("sign-in") / "ledger.db")


@pytest.fixture(name="server", scope="module")
def server_fixture(db):
    with served(db) as server:
        yield server


def link(db, **changes):
    text, kept = new_link()
    ledger = open_ledger(db)
    ledger.add_token(kept._replace(**changes))
    ledger.close()
    return text, kept.id


def test_a_link_is_changed_for_a_token_once(server, db, capfd):
    text, number = link(db)
    signed_in = post(server, "/v1/sign-in", {}, token=text)
    assert signed_in.status_code == 201, signed_in.text
    story = signed_in.json()
    assert (story["scope"], story["project"]) == ("admin", None)
    ledger = open_ledger(db)
    kept = {token.id: token for token in ledger.tokens()}
    ledger.close()
    made = kept[story["id"]]
    assert made.expires - made.created == SIGNED_IN_FOR * 1_000_000
    assert kept[number].revoked
    assert get(server, "/v1/tokens", token=story["token"]).status_code == 200
    again = post(server, "/v1/sign-in", {}, token=text)
    assert again.status_code == 401
    said = capfd.readouterr()
    assert text not in said.out + said.err
    assert story["token"] not in said.out + said.err


def test_a_link_is_good_for_nothing_else(server, db):
    text, _ = link(db)
    reads = ("/v1/token", "/v1/projects", "/v1/tokens", "/v1/projects/p/live", "/metrics")
    for path in reads:
        assert get(server, path, token=text).status_code == 403, path
    for path in ("/v1/projects", "/v1/tokens", "/v1/projects/p/cases", "/v1/fit"):
        assert post(server, path, {}, token=text).status_code == 403, path
    assert post(server, "/v1/sign-in", {}, token=text).status_code == 201


def test_a_link_is_not_rotated_but_may_be_revoked(server, db):
    text, number = link(db)
    assert post(server, f"/v1/tokens/{number}/rotate", {"overlap": 60}).status_code == 404
    assert post(server, f"/v1/tokens/{number}/revoke", {}).status_code == 200
    assert post(server, "/v1/sign-in", {}, token=text).status_code == 401


def test_what_is_no_link_does_not_sign_in(server, db):
    text, _ = link(db)
    assert get(server, "/v1/token", token=text).status_code == 403  # it is known from now on
    old, _ = link(db, expires=1)
    assert post(server, "/v1/sign-in", {}, token=old).status_code == 401
    assert post(server, "/v1/sign-in", {}, token="askw_guess").status_code == 401
    assert post(server, "/v1/sign-in", {}).status_code == 403  # a token is no link
    assert server.http.post("/v1/sign-in", json={}).status_code == 401
    for headers in ({"origin": "http://evil.example"}, {"sec_fetch_site": "cross-site"}):
        assert send(server, "POST", "/v1/sign-in", b"{}", token=text, **headers).status_code == 403
    assert post(server, "/v1/sign-in", {"extra": 1}, token=text).status_code == 422
    assert post(server, "/v1/sign-in", {}, token=text).status_code == 201  # it was not used up


def test_of_many_who_use_a_link_at_once_one_is_signed_in(database):
    _, kept = new_link()
    ledgers = [open_ledger(database) for _ in range(4)]
    ledgers[0].add_token(kept)
    won, barrier = [], threading.Barrier(len(ledgers))

    def use(ledger):
        barrier.wait()
        won.append(ledger.revoke_token(kept.id, time.time_ns() // 1000))
        ledger.close()

    threads = [threading.Thread(target=use, args=(ledger,)) for ledger in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(won) == [False] * 3 + [True]


def test_one_who_signed_in_cannot_revoke_the_last_lasting_token(server, db):
    text, _ = link(db)
    token = post(server, "/v1/sign-in", {}, token=text).json()["token"]
    lasting = [
        t
        for t in get(server, "/v1/tokens").json()["tokens"]
        if t["scope"] == "admin" and t["expires"] is None and t["revoked"] is None
    ]
    assert len(lasting) == 1
    refused = post(server, f"/v1/tokens/{lasting[0]['id']}/revoke", {}, token=token)
    assert refused.status_code == 409


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_link_is_printed_to_a_terminal_and_nowhere_else(tmp_path, is_terminal):
    command = [sys.executable, "-m", "askwise", "serve", "--port", "0", "--no-warm-up"]
    ours, theirs = pty.openpty() if is_terminal else os.pipe()
    server = subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, cwd=tmp_path)
    os.close(theirs)
    said = b""
    ends = b"#/sign-in/" if is_terminal else b"askw_"
    try:
        while ends not in said or not said.endswith(b"\n"):
            said += os.read(ours, 4096)
    finally:
        server.terminate()
        errors = server.communicate(timeout=PATIENCE)[1]
        os.close(ours)
    ledger = open_ledger(str(tmp_path / "askwise.db"))
    links = [token for token in ledger.tokens() if token.scope == SIGN_IN]
    ledger.close()
    assert len(links) == is_terminal
    if is_terminal:
        assert said.split()[-1].rpartition(b"/")[2] not in errors
