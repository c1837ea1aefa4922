"""A server that is full, fails, stops or starts again loses nothing and tells no secrets."""

import asyncio
import socket
import threading

import httpx
import pytest

import askwise as aw
from askwise.errors import LedgerError, OptionError
from askwise.service.api.refusals import Refusal
from askwise.service.decisions import writer as writer_module
from askwise.service.decisions.replay import verify
from askwise.service.http import server as server_module
from askwise.service.ledger import open_ledger
from askwise.service.operations.worker import listen
from askwise.service.settings import Settings
from askwise.service.tokens import TokenCache, check_scope, digest_of, new_token
from service_calls import CASES, as_json, events, get, post
from serving import PROBLEM, served
from waiting import PATIENCE


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
    book.refresh()
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
        assert server.http.get("/v1/projects").status_code == 200


def test_a_full_queue_says_come_again_and_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(writer_module, "MOST_WAITING", 3)
    path = str(tmp_path / "ledger.db")
    with served(path) as server:
        post(server, "/v1/projects", {"name": "clinic", "problem": as_json(PROBLEM)})
        post(server, CASES, {})
        ledger = open_ledger(path)

        async def flood():
            async with httpx.AsyncClient(timeout=PATIENCE) as client:
                headers = {"authorization": f"Bearer {server.token}"}

                async def one(k):
                    answer = await client.post(
                        server.url + CASES, headers=headers | {"idempotency-key": f"flood-{k}"}
                    )
                    if answer.status_code == 503:
                        done.set()
                    return answer

                return await asyncio.gather(*(one(k) for k in range(30)))

        holds, done = threading.Event(), threading.Event()

        def hold():
            with ledger.transaction():
                holds.set()
                done.wait(PATIENCE)

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


def test_a_server_that_stops_answers_what_it_has_accepted(tmp_path, monkeypatch):
    path = str(tmp_path / "ledger.db")
    with served(path) as server:
        post(server, "/v1/projects", {"name": "clinic", "problem": as_json(PROBLEM)})
        post(server, CASES, {})
        ledger = open_ledger(path)
        answers, accepted = [], threading.Event()
        holds, goes_on, real = threading.Event(), threading.Event(), writer_module.Writer.submit

        def submit(*arguments):
            real(*arguments)
            accepted.set()

        monkeypatch.setattr(writer_module.Writer, "submit", submit)

        def hold():
            with ledger.transaction():
                holds.set()
                assert goes_on.wait(PATIENCE)

        holder = threading.Thread(target=hold)
        holder.start()
        holds.wait()
        asking = threading.Thread(target=lambda: answers.append(post(server, CASES, {}, "late")))
        asking.start()
        assert accepted.wait(PATIENCE)  # and cannot be written yet
        threading.Timer(0.5, goes_on.set).start()
        server.stop()
        asking.join()
        holder.join()
        assert answers[0].status_code == 201
        assert verify(ledger, "clinic").events == 2
        ledger.close()


def test_a_server_that_stops_does_not_wait_for_idle_clients(tmp_path):
    with served(str(tmp_path / "ledger.db"), idle_within=10 * PATIENCE) as server:
        assert server.http.get("/healthz").status_code == 200  # and the connection is kept
        server.stop()


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


def test_a_server_that_stops_does_not_wait_for_the_next_look_at_time_limits(tmp_path, monkeypatch):
    monkeypatch.setattr(server_module, "CHECKED_EVERY", 10 * PATIENCE)
    with served(str(tmp_path / "ledger.db")) as server:
        assert server.http.get("/healthz").status_code == 200  # and the connection is kept
        server.stop()


def test_answers_are_sent_without_delay_on_any_loop():
    """asyncio's own loop sets TCP_NODELAY only on sockets that say they are of TCP."""

    async def delayed():
        listening, made = listen(Settings(port=0)), asyncio.get_running_loop().create_future()

        class Noting(asyncio.Protocol):
            def connection_made(self, transport):
                accepted = transport.get_extra_info("socket")
                made.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
                transport.close()

        taking = await asyncio.get_running_loop().create_server(Noting, sock=listening)
        async with taking:
            _, writer = await asyncio.open_connection(*listening.getsockname())
            is_set = await made
            writer.close()
            return not is_set

    assert not asyncio.run(delayed())


def test_a_port_that_is_taken_has_a_remedy():
    with listen(Settings(port=0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            OSError, match=f":{port}: Address already in use; choose another --port"
        ):
            listen(Settings(port=port))
