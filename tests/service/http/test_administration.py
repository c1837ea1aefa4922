"""Tokens and whole projects over HTTP, and what a client that means harm gets."""

import contextlib
import json
import time
from datetime import datetime

import pytest

import askwise as aw
from askwise.service.api.refusals import Refusal
from askwise.service.backend.rate_limits import RateLimits
from askwise.service.client import AsyncClient, Client
from askwise.service.decisions import erasing
from askwise.service.decisions.replay import verify
from askwise.service.http import administration_handlers
from askwise.service.ledger import open_ledger
from askwise.service.replanning.replanner import Replanner
from askwise.service.tokens import new_token
from service_calls import as_json, finished, get, post
from serving import PROBLEM, create, database_fixture, postgres_fixture, served  # noqa: F401
from waiting import until

OTHER = "/v1/projects/other"


@pytest.fixture(name="ours")
def ours_fixture(database):
    """A server with the projects clinic and other."""
    with served(database) as server:
        for name in ("clinic", "other"):
            body = {"name": name, "problem": as_json(PROBLEM)}
            server.tokens = getattr(server, "tokens", {})
            server.tokens[name] = post(server, "/v1/projects", body).json()["token"]
        server.db = database
        yield server


# --- tokens --------------------------------------------------------------------------------------


def test_a_token_expires(ours):
    made = post(ours, "/v1/tokens", {"scope": "read", "expires_in": 1}).json()
    assert get(ours, OTHER, token=made["token"]).status_code == 200
    until(lambda: get(ours, OTHER, token=made["token"]).status_code == 401)
    listed = {t["id"]: t for t in get(ours, "/v1/tokens").json()["tokens"]}
    assert listed[made["id"]]["expires"] == made["expires"]
    assert all(t["token"] is None for t in listed.values())
    again = post(ours, f"/v1/tokens/{made['id']}/rotate", {})
    assert again.status_code == 404  # what has expired is not brought back


def test_a_token_that_is_rotated_may_overlap(ours):
    made = post(ours, "/v1/tokens", {"scope": "decide", "project": "other", "rate": 600}).json()
    new = post(ours, f"/v1/tokens/{made['id']}/rotate", {"overlap": 2}).json()
    assert (new["rate"], new["project"], new["scope"]) == (600, "other", "decide")
    for token in (made["token"], new["token"]):
        assert get(ours, OTHER, token=token).status_code == 200
    until(lambda: get(ours, OTHER, token=made["token"]).status_code == 401)
    assert get(ours, OTHER, token=new["token"]).status_code == 200


@pytest.mark.parametrize("lasts", [None, 7 * 86_400])
def test_a_token_that_is_rotated_again_lasts_as_long(ours, lasts):
    """The answer to the first rotation was lost, so another is asked for, within the overlap."""
    body = {"scope": "admin"} | ({} if lasts is None else {"expires_in": lasts})
    made = post(ours, "/v1/tokens", body).json()
    for _ in range(2):
        new = post(ours, f"/v1/tokens/{made['id']}/rotate", {"overlap": 3600}).json()
        assert lifetime(new) == pytest.approx(lasts)
    later = post(ours, f"/v1/tokens/{new['id']}/rotate", {}).json()
    assert lifetime(later) == pytest.approx(lasts)


def lifetime(story):
    """The seconds that a token lasts; None for ever."""
    if story["expires"] is None:
        return None
    created, expires = (datetime.fromisoformat(story[name]) for name in ("created", "expires"))
    return (expires - created).total_seconds()


def test_new_tokens_are_in_the_log_but_not_their_secrets(ours, capfd):
    made = post(ours, "/v1/tokens", {"scope": "read"}).json()
    new = post(ours, f"/v1/tokens/{made['id']}/rotate", {"overlap": 5}).json()
    text = capfd.readouterr().err
    said = [line for line in map(json.loads, text.splitlines()) if "administration" in line["what"]]
    assert [(line["what"], line["made"]) for line in said] == [
        ("administration: token", made["id"]),
        ("administration: rotate", new["id"]),
    ]
    assert said[1]["asked"] == {"token": made["id"], "overlap": 5}
    assert made["token"] not in text
    assert new["token"] not in text


def test_the_last_token_for_everything_stays(ours):
    mine = next(t["id"] for t in get(ours, "/v1/tokens").json()["tokens"] if t["scope"] == "admin")
    refused = post(ours, f"/v1/tokens/{mine}/revoke", {})
    assert refused.status_code == 409
    assert "last token" in refused.json()["detail"]
    other = post(ours, "/v1/tokens", {"scope": "admin"}).json()
    assert post(ours, f"/v1/tokens/{mine}/revoke", {}).status_code == 200
    assert get(ours, "/v1/tokens").status_code == 401
    assert get(ours, "/v1/tokens", token=other["token"]).status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/tokens", {"scope": "root"}, 422),
        ("/v1/tokens", {"scope": "read", "project": "nowhere"}, 422),
        ("/v1/tokens", {}, 422),
        ("/v1/tokens", {"scope": "read", "expires_in": 0}, 422),
        ("/v1/tokens", {"scope": "read", "expires_in": 10**12}, 422),
        ("/v1/tokens", {"scope": "read", "rate": 0}, 422),
        ("/v1/tokens", {"scope": "read", "rate": -1}, 422),
        ("/v1/tokens/000000000000/revoke", {}, 404),
        ("/v1/tokens/..%2f..%2fprojects/revoke", {}, 404),
        ("/v1/tokens/clinic/rotate", {}, 404),
        ("/v1/tokens/%00/rotate", {}, 404),
        ("/v1/tokens/000000000000/rotate", {"overlap": -1}, 422),
        ("/v1/projects/nowhere/archive", {}, 404),
        ("/v1/projects/%00/archive", {}, 404),
        ("/v1/projects/clinic/rename", {"name": "other"}, 409),
        ("/v1/projects/clinic/rename", {"name": "clinic"}, 409),
        ("/v1/projects/clinic/rename", {"name": "../x"}, 422),
        ("/v1/projects/clinic/delete", {}, 422),
        ("/v1/projects/clinic/delete", {"name": "other"}, 422),
        ("/v1/projects/clinic/restore", {}, 409),
        ("/v1/projects/clinic/prices", {"prices": {}}, 422),
        ("/v1/projects/clinic/prices", {"prices": {"mri": "free"}}, 422),
        ("/v1/projects/clinic/prices", {"prices": {"mri": -1}}, 422),
        ("/v1/projects/clinic/prices", {"prices": {"mri": 1e300}}, 422),
        ("/v1/projects/clinic/prices", {"prices": {"ct": 1}}, 422),
        ("/v1/projects/nowhere/prices", {"prices": {"mri": 1}}, 404),
        ("/v1/projects/nowhere/clone", {"name": "x"}, 404),
        ("/v1/projects/clinic/clone", {"name": "other"}, 409),
        ("/v1/projects/clinic/clone", {"name": "x/y"}, 422),
    ],
)
def test_what_cannot_be_done_changes_nothing(server, path, body, status):
    def state():
        return get(server, "/v1/projects").json(), get(server, "/v1/tokens").json()

    if "other" in str(body):
        post(server, "/v1/projects", {"name": "other", "problem": as_json(PROBLEM)})
    before = state()
    answer = post(server, path, body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert state() == before


def test_a_token_for_one_project_administers_nothing_even_where_names_are_alike(ours):
    """A project may have the name of a token: its own admin token must not reach that token."""
    victim = post(ours, "/v1/tokens", {"scope": "read"}).json()["id"]
    body = {"name": victim, "problem": as_json(PROBLEM)}
    assert post(ours, "/v1/projects", body).status_code == 201
    mine = post(ours, "/v1/tokens", {"scope": "admin", "project": victim}).json()["token"]
    before = get(ours, "/v1/tokens").json()
    for path, body in (
        (f"/v1/tokens/{victim}/revoke", {}),
        (f"/v1/tokens/{victim}/rotate", {}),
        ("/v1/tokens", {"scope": "admin"}),
        (f"/v1/projects/{victim}/clone", {"name": "copy"}),
        (f"/v1/projects/{victim}/delete", {"name": victim}),
        (f"/v1/projects/{victim}/rename", {"name": "copy"}),
        (f"/v1/projects/{victim}/archive", {}),
        (f"/v1/projects/{victim}/prices", {"prices": {"mri": 0}}),
        ("/v1/projects/other/archive", {}),
    ):
        assert post(ours, path, body, token=mine).status_code == 403, path
    assert get(ours, "/v1/tokens", token=mine).status_code == 403
    assert get(ours, "/v1/tokens").json() == before


# --- rates ---------------------------------------------------------------------------------------


def test_a_token_has_its_rate_and_batches_count_their_items(ours):
    made = post(ours, "/v1/tokens", {"scope": "decide", "project": "other", "rate": 10}).json()
    answers = [get(ours, OTHER, token=made["token"]) for _ in range(12)]
    assert [a.status_code for a in answers] == [200] * 10 + [429] * 2
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 6
    assert get(ours, OTHER).status_code == 200  # other tokens do not notice
    second = post(ours, "/v1/tokens", {"scope": "decide", "project": "other", "rate": 10}).json()
    items = [{"key": f"k-{k}", "open": {}} for k in range(50)]
    assert post(ours, OTHER + "/batch", items, token=second["token"]).status_code == 200
    refused = post(ours, OTHER + "/cases", {}, token=second["token"])
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 200
    assert get(ours, OTHER).json()["cases"] == 50


def test_refused_requests_count_too_and_workers_share_a_rate(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    _, token = new_token("read", rate=60)
    limits = [RateLimits(4) for _ in range(4)]
    let_through = 0
    for _ in range(100):
        for worker in limits:
            with contextlib.suppress(Refusal):
                worker.charge(token)
                let_through += 1
    assert let_through == 60
    now[0] += 60.0
    limits[0].charge(token)
    free = RateLimits(1)
    for _ in range(1000):
        free.charge(new_token("read")[1])
    assert not free._buckets


# --- projects ------------------------------------------------------------------------------------


def test_a_deleted_project_leaves_nothing_and_its_number_and_name_are_safe(ours):
    for _ in range(3):
        finished(ours)
    ledger = open_ledger(ours.db)
    number = ledger.project("other").id
    assert post(ours, OTHER + "/delete", {"name": "other"}).status_code == 200
    body = {"name": "other", "problem": as_json(PROBLEM)}
    assert post(ours, "/v1/projects", body).status_code == 201
    assert ledger.project("other").id > number
    assert get(ours, OTHER, token=ours.tokens["other"]).status_code == 401
    assert post(ours, "/v1/projects/clinic/delete", {"name": "clinic"}).status_code == 200
    while ledger.purge(2):
        pass
    left = ledger.project("other").id
    with ledger.read_session() as session:
        for table in ("events", "cases", "counters", "policies"):
            rows = session.all(f"SELECT project FROM {table} WHERE project <> 0")
            assert set(rows) <= {(left,)}, table
        assert session.all("SELECT * FROM removed") == []
    ledger.close()


def test_another_process_notices_that_names_have_moved(ours, database):
    """A second server has a project in memory that is renamed, and its name given away."""
    with served(database) as second:
        assert post(second, OTHER + "/cases", {}).json()["case"] == 1
        assert post(ours, OTHER + "/rename", {"name": "old"}).status_code == 200
        assert post(second, OTHER + "/cases", {}).status_code == 404
        assert post(second, "/v1/projects/old/cases", {}).json()["case"] == 2
        body = {"name": "other", "problem": as_json(PROBLEM)}
        assert post(ours, "/v1/projects", body).status_code == 201
        assert post(second, OTHER + "/cases", {}).json()["case"] == 1
        assert post(ours, "/v1/projects/old/archive", {}).status_code == 200
        assert post(second, "/v1/projects/old/cases/1/cancel", {}).status_code == 409
        assert get(second, "/v1/projects/old/cases/1").json()["status"] == "observing"
        assert post(ours, "/v1/projects/old/restore", {}).status_code == 200
        assert post(second, "/v1/projects/old/cases/1/cancel", {}).status_code == 200


def test_new_prices_are_planned_with_and_what_was_paid_before_is_forgotten(ours):
    for _ in range(4):
        case = post(ours, OTHER + "/cases", {}).json()
        if "mammogram" in case["wanted"]:
            body = {"values": {"mammogram": "low"}, "paid": {"mammogram": 5.0}}
            post(ours, f"{OTHER}/cases/{case['case']}/observations", body)
    answer = post(ours, OTHER + "/prices", {"prices": {"mammogram": 2.0, "mri": 0.5}})
    assert answer.status_code == 200, answer.text
    ledger = open_ledger(ours.db)
    replanner = Replanner(ledger)
    fence = ledger.take_lease(replanner._holder).fence
    assert replanner.plan(ledger.project("other"), fence)
    worth = get(ours, OTHER + "/worth").json()
    assert [o["cost"] for o in worth["observations"]] == [2.0, 0.5]
    assert verify(ledger, "other").differences == []
    ledger.close()


def test_a_clone_begins_with_what_was_learned_of_the_next_version_of_the_problem(ours):
    for k in range(12):
        case = post(ours, OTHER + "/cases", {"known": {"mri": ("neg", "pos")[k % 2]}}).json()
        path = f"{OTHER}/cases/{case['case']}"
        if case["wanted"]:
            case = post(ours, path + "/observations", {"values": {"mammogram": "high"}}).json()
        post(ours, path + "/reward", {"reward": 1})
    wider = aw.Problem(
        observations=[
            aw.Observation("mammogram", values=["unclear", "low", "high"], cost=1.5),
            aw.Observation("mri", values=["neg", "pos"], cost=9.0, fails="refunded"),
        ],
        actions=["refer", "wait", "treat"],
        reward_value=100.0,
    )
    made = post(ours, OTHER + "/clone", {"name": "wider", "problem": as_json(wider)})
    assert made.status_code == 201, made.text
    ledger = open_ledger(ours.db)
    from askwise.service.replanning.policy_versions import read_version

    before, snapshot = ledger.project("other"), ledger.snapshot(ledger.project("other").id)
    new = read_version(ledger, ledger.project("wider").id, 1).statistics
    assert new.cases == sum(r.amount for r in snapshot.counters if r.kind == "cases") > 0
    total = sum(r.amount for r in snapshot.counters if r.kind == "reward_sums")
    assert new.reward_sums.sum() == total
    assert new.action_counts[:, 0].sum() == 0  # nobody was referred yet
    for state in range(new.lattice.size):
        if new.action_counts[state].any():
            assert "unclear" not in new.lattice.state(state).values()
    assert ledger.project("other") == before
    ledger.close()
    for change, says in (
        ({"actions": ["wait"]}, "the action 'treat' was counted"),
        ({"reward_value": 7.0}, "must stay"),
        ({"observations": as_json(wider)["observations"][::-1]}, "the same observations"),
        (
            {
                "observations": [
                    {"name": "mammogram", "values": ["low"], "cost": 1},
                    as_json(wider)["observations"][1],
                ]
            },
            "the value 'high' was counted",
        ),
    ):
        body = {"name": "bad", "problem": as_json(PROBLEM) | change}
        refused = post(ours, OTHER + "/clone", body)
        assert refused.status_code == 422, refused.text
        assert says in refused.json()["detail"]
    assert get(ours, "/v1/projects/bad").status_code == 404


@pytest.mark.parametrize("meanwhile", ["a reward", "a price"])
def test_a_case_that_changes_while_it_is_erased_is_read_again(ours, monkeypatch, meanwhile):
    case = finished(ours)["case"]
    path = f"/v1/projects/clinic/cases/{case}"
    post(ours, f"{path}/reward", {"reward": 0.0})
    changes = [1, 2, 3]

    def erasure(*arguments):
        job = erasing.erasure(*arguments)
        if changes:
            number = changes.pop()
            if meanwhile == "a reward":
                body = {"reward": number / 4, "replaces": True}
                assert post(ours, f"{path}/reward", body).status_code == 200
            else:
                body = {"prices": {"mri": float(number)}}
                assert post(ours, "/v1/projects/clinic/prices", body).status_code == 200
        return job

    monkeypatch.setattr(administration_handlers, "erasure", erasure)
    monkeypatch.setattr(administration_handlers, "ERASED_WITHIN", 2)
    refused = post(ours, f"{path}/erase", {})
    assert refused.status_code == 409
    assert "then erase it" in refused.json()["detail"]
    assert get(ours, path).status_code == 200
    assert post(ours, f"{path}/erase", {}).status_code == 200
    assert get(ours, path).status_code == 410
    ledger = open_ledger(ours.db)
    assert verify(ledger, "clinic").differences == []
    ledger.close()


def test_there_is_an_end_to_clones(ours, monkeypatch):
    monkeypatch.setattr("askwise.service.http.project_handlers.MOST_PROJECTS", 3)
    names = (f"copy-{k}" for k in range(10_000))

    def refused():
        name = next(names)
        answer = post(ours, OTHER + "/clone", {"name": name})
        is_there = get(ours, f"/v1/projects/{name}").status_code == 200
        assert is_there == (answer.status_code == 201)
        return answer.status_code == 409 and "3 projects" in answer.json()["detail"]

    until(refused)  # a worker counts the projects four times a second


# --- the clients ---------------------------------------------------------------------------------


def test_both_clients_have_all_of_it(ours):
    import asyncio

    with Client(ours.url, ours.token) as client:
        learner = aw.SeqOOS(PROBLEM)
        assert client.create_project_from("warm", learner).learner.name == "seq-oos"
        token = client.create_token("read", project="warm", expires_in=60, rate=5)
        assert client.rotate_token(token.id, overlap=1).rate == 5
        assert client.clone("warm", "copy").name == "copy"
        assert client.reprice("copy", {"mri": 2.0}).problem.observations[1].cost == 2.0
        assert client.archive("copy").archived
        assert client.restore("copy").archived is None
        assert client.rename("copy", "second").name == "second"
        assert client.delete("second").events == 1
        assert client.revoke_token(client.create_token().id).revoked

    async def ask():
        async with AsyncClient(ours.url, ours.token) as client:
            await client.clone("warm", "copy")
            await client.delete("copy")
            return await client.tokens()

    assert any(token.project == "warm" for token in asyncio.run(ask()))
