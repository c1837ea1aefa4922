"""The client: the same answers waiting or awaited; a request that is sent twice happens once."""

import asyncio
import math
import re
import ssl
from pathlib import Path

import httpx
import pytest

import askwise as aw
from askwise.errors import ServiceError
from askwise.service.api import calls, operator_calls
from askwise.service.api.call import Call
from askwise.service.api.messages import BatchItem, Opening, Rewarding
from askwise.service.client import AsyncClient, Client
from askwise.service.client.requests import wait_before
from askwise.service.decisions.replay import verify
from askwise.service.ledger import open_ledger
from serving import PROBLEM, served

BOTH = {"learner": "fixed-set", "options": {"observations": ["mammogram", "mri"]}}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("client") / "ledger.db")
    with served(path) as server:
        server.path = path
        with Client(server.url, server.token) as client:
            assert client.create_project("clinic", PROBLEM, **BOTH).token.startswith("askw_")
        yield server


class Lossy(httpx.HTTPTransport):
    """Every request arrives; every second answer is lost on the way back."""

    def __init__(self):
        super().__init__()
        self.sent = 0

    def handle_request(self, request):
        response = super().handle_request(request)
        self.sent += 1
        if self.sent % 2:
            response.read()
            raise httpx.ReadError("the line went dead", request=request)
        return response


def test_a_case_from_the_door_to_its_reward(server):
    with Client(server.url, server.token) as client:
        assert client.project("clinic").problem == PROBLEM
        case = client.open("clinic")
        assert case.wanted == ("mammogram", "mri")
        case = client.observe("clinic", case.case, {"mammogram": "low", "mri": None})
        with pytest.raises(ServiceError, match="a finite number, got nan"):
            client.reward("clinic", case.case, math.nan)
        assert (case.wanted, case.cost) == ((), 1.0)
        client.reward("clinic", case.case, 0.25, default=True)
        client.reward("clinic", case.case, 0.5)
        client.reward("clinic", case.case, 1.0, replaces=True)
        story = client.case("clinic", case.case)
        assert (story.reward, story.status) == (1.0, "rewarded")
        other = client.open("clinic", {"mri": "neg"})
        assert other.wanted == ("mammogram",)
        client.cancel("clinic", other.case)
        assert [c.case for c in client.cases("clinic", limit=2)] == [other.case, case.case]
        assert [c.case for c in client.cases("clinic", before=other.case, limit=1)] == [case.case]
        assert client.awaited("clinic") == []
        assert (client.token().scope, client.token().project) == ("admin", None)
        summary = client.summary("clinic")
        assert summary.gain == 99.0
        assert client.policy("clinic").policy_version == 1
        assert len(client.worth("clinic").observations) == 2
        assert [p.name for p in client.projects()] == ["clinic"]
        project = client.project("clinic")
        assert [e.seq for e in client.events("clinic", after=2)] == list(
            range(3, project.events + 1)
        )
        answers = client.batch(
            "clinic",
            [
                BatchItem(key="client-1", open=Opening()),
                BatchItem(key="client-2", case=case.case, reward=Rewarding(0.5)),
            ],
        )
        assert [a.status for a in answers] == [201, 409]
        assert answers[0].answer.wanted == ("mammogram", "mri")
        assert "already" in answers[1].problem.detail


def test_stakes_and_what_people_did(server):
    with Client(server.url, server.token) as client:
        before = client.summary("clinic")
        case = client.open("clinic", prices={"mri": 2.0}, stake=10.0)
        client.observe("clinic", case.case, {"mri": "pos"}, unasked=True, knew_more=False)
        done = client.act("clinic", case.case, "treat", knew_more=False)
        assert (done.action, done.cost, done.propensity) == ("treat", 2.0, None)
        again = client.act("clinic", case.case, "treat", propensity=0.5)  # changes nothing
        assert (again.action, again.cost, again.propensity) == ("treat", 2.0, None)
        client.reward("clinic", case.case, 0.5)
        story, summary = client.case("clinic", case.case), client.summary("clinic")
        assert (story.stake, story.overruled) == (10.0, True)
        assert summary.gain - before.gain == 10 * 100.0 * 0.5 - 2.0
        assert sum(row.cases for row in summary.overruled) == 1
        with pytest.raises(ServiceError, match="a stake must be a number above 0, got nan"):
            client.open("clinic", stake=math.nan)
        with pytest.raises(ServiceError, match="stake"):
            client.open("clinic", stake=0.0)


def test_an_answer_that_was_lost_is_given_again(server):
    before = open_ledger(server.path).project("clinic").opened
    lossy = Lossy()
    with Client(server.url, server.token, transport=lossy) as client:
        numbers = [client.open("clinic").case for _ in range(5)]
    assert lossy.sent == 10
    assert numbers == list(range(before + 1, before + 6))
    ledger = open_ledger(server.path)
    assert ledger.project("clinic").opened == before + 5
    assert verify(ledger, "clinic").differences == []
    ledger.close()


def test_awaited_it_is_the_same(server):
    async def talk():
        async with AsyncClient(server.url, server.token) as client:
            cases = await asyncio.gather(*(client.open("clinic") for _ in range(10)))
            assert len({case.case for case in cases}) == 10
            first = cases[0]
            values = {"mammogram": "high", "mri": "pos"}
            done = await client.observe("clinic", first.case, values, paid={"mri": 8.0})
            assert done.cost == 9.0
            await client.reward("clinic", first.case, 1.0)
            case = await client.open("clinic", stake=3.0)
            assert (await client.act("clinic", case.case, "treat")).action == "treat"
            lines = [line async for line in client.events("clinic")]
            assert [line.kind for line in lines[-3:]] == ["reward", "open", "act"]
            with pytest.raises(ServiceError, match="no project 'none'"):
                await client.project("none")

    asyncio.run(talk())


def test_refusals_say_what_and_are_not_repeated(server):
    with Client(server.url, server.token) as client:
        with pytest.raises(ServiceError, match="no value 'purple'") as refused:
            client.open("clinic", {"mri": "purple"})
        assert refused.value.status == 422
        with pytest.raises(ServiceError, match="no project"):
            list(client.events("none"))
    with Client(server.url, "askw_wrong") as client, pytest.raises(ServiceError) as refused:
        client.projects()
    assert refused.value.status == 401


def test_a_server_that_is_not_there_is_one_clear_error():
    with (
        Client("http://127.0.0.1:9", "t", retries=1) as client,
        pytest.raises(ServiceError, match="no answer in 2 attempts: ConnectError") as failed,
    ):
        client.projects()
    assert failed.value.status == 0
    with Client("127.0.0.1:9") as client, pytest.raises(ServiceError, match="in 1 attempt: Unsup"):
        client.projects()


def test_events_of_a_server_that_is_not_there_are_one_clear_error():
    async def ask():
        async with AsyncClient("http://127.0.0.1:9", "t") as client:
            return [event async for event in client.events("clinic")]

    with (
        Client("http://127.0.0.1:9", "t") as client,
        pytest.raises(ServiceError, match="no answer in 1 attempt: ConnectError"),
    ):
        list(client.events("clinic"))
    with pytest.raises(ServiceError, match="no answer in 1 attempt: ConnectError"):
        asyncio.run(ask())


def test_it_comes_again_when_told_to():
    codes = iter([503, 503, 200])
    keys = []

    def answer(request):
        keys.append(request.headers["idempotency-key"])
        code = next(codes)
        body = {"case": 1, "wanted": [], "action": "wait", "cost": 0.0, "policy_version": 1}
        return httpx.Response(code, json=body, headers={"retry-after": "0"})

    with Client("http://x", "t", transport=httpx.MockTransport(answer)) as client:
        assert client.open("clinic").action == "wait"
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert wait_before(3, "2") == 2.0
    assert wait_before(30, None) == 5.0
    assert wait_before(0, "soon") < wait_before(1, "soon")


ROWS = ("neg,wait", "neg,wait", "pos,treat", "neg,wait")
TABLE = "mri,best\n" + "\n".join(ROWS * 25)


def test_reports_and_tables(server):
    with Client(server.url, server.token) as client:
        drafted = client.draft(TABLE, label="best")
        fitted = client.fit(TABLE, drafted.problem, label="best")
        assert fitted.recommends.tree["buy"] == ["mri"]
        client.create_project_from_saved("from-a-table", fitted.saved)
        assert client.alarms("from-a-table") == []
        assert [one.version for one in client.versions("from-a-table", limit=5)] == [1]
        assert client.versions("from-a-table", before=1.5) == []
        assert client.policy("from-a-table", version=1).policy_version == 1
        with pytest.raises(ServiceError, match="version"):
            client.policy("from-a-table", version=9)

    async def awaited():
        async with AsyncClient(server.url, server.token) as client:
            assert await client.draft(TABLE, label="best") == drafted
            again = await client.fit(TABLE, drafted.problem, label="best")
            assert again.recommends == fitted.recommends
            await client.create_project_from_saved("awaited-table", again.saved)
            assert await client.alarms("awaited-table") == []
            assert len(await client.versions("awaited-table")) == 1
            assert (await client.policy("awaited-table", version=1)).policy_version == 1

    asyncio.run(awaited())


def test_both_clients_have_a_method_for_every_call():
    """But for signing in and the stream of changes, which are for browsers."""
    source = "".join(
        file.read_text() for file in Path(aw.service.client.__file__).parent.glob("*.py")
    )
    for module in (calls, operator_calls):
        for name, call in vars(module).items():
            if isinstance(call, Call) and call not in (calls.SIGN_IN, calls.STREAM_CHANGES):
                assert len(re.findall(rf"calls\.{name}\b", source)) >= 2, name


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_no_certificates_are_read_for_a_plain_address(kind, monkeypatch):
    read = []
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_, **more: read.append(1))
    kind("HTTP://127.0.0.1:1")
    assert read == []
    kind("https://127.0.0.1:1")
    assert read != []
