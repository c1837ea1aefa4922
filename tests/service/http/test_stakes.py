"""Policies and worth for a stake over HTTP, as the library has them."""

import asyncio
import base64
import threading
from statistics import mode

import pytest

import askwise as aw
from askwise.service.api.refusals import Refusal
from askwise.service.client import AsyncClient, Client
from askwise.service.dashboard import explanations
from askwise.service.dashboard.explanations import MOST_KEPT, MOST_WAITING, Explanations
from askwise.simulation.environments import Population, breast_cancer
from service_calls import get, post
from serving import served

MODEL = breast_cancer(cost=5.0)


@pytest.fixture(name="learner", scope="module")
def learner_fixture():
    learner = aw.Learner(MODEL.problem, rng=0)
    aw.simulate(learner, Population(MODEL), steps=400, rng=0)
    return learner


@pytest.fixture(name="server", scope="module")
def server_fixture(tmp_path_factory, learner):
    with served(str(tmp_path_factory.mktemp("stakes") / "ledger.db")) as server:
        saved = base64.b64encode(learner.to_bytes()).decode()
        made = post(server, "/v1/projects", {"name": "clinic", "saved": saved}, "a-key")
        assert made.status_code == 201, made.text
        yield server


@pytest.mark.parametrize("stake", [0.01, 1.0, 20.0])
def test_what_is_recommended_and_worth_is_what_the_library_says(server, learner, stake):
    with Client(server.url, server.token) as client:
        policy, worth = client.policy("clinic", stake=stake), client.worth("clinic", stake=stake)
        follows = policy.follows.tree
        cases = [client.open("clinic", stake=stake) for _ in range(15)]
    expected = aw.worth(learner, stake=stake)
    assert (policy.stake, worth.stake) == (stake, stake)
    assert policy.recommends.text == str(learner.recommend(stake=stake).tree())
    assert worth.gain == pytest.approx(expected.gain)
    for mine in worth.observations:
        assert mine.break_even == pytest.approx(expected[mine.name].break_even)
    usual = mode((case.wanted, case.action) for case in cases)  # a few of the cases explore
    assert usual == (tuple(follows.get("buy", ())), follows.get("action"))


def test_without_a_stake_it_is_one(server):
    paths = [f"/v1/projects/clinic/{what}" for what in ("policy", "worth")]
    for path in paths:
        assert get(server, path).json() == get(server, f"{path}?stake=1").json()
    little, much = (get(server, f"{paths[0]}?stake={stake}").json() for stake in (0.001, 50))
    assert little["recommends"]["tree"] != much["recommends"]["tree"]

    async def ask():
        async with AsyncClient(server.url, server.token) as client:
            found = await client.policy("clinic", stake=50.0), await client.worth("clinic")
            return found[0].recommends.text, found[1].stake

    assert asyncio.run(ask()) == (much["recommends"]["text"], 1.0)


@pytest.mark.parametrize("stake", ["0", "-1", "nan", "inf", "much", "1e10", "", "1_0", "1&stake=2"])
def test_bad_stakes_are_refused(server, stake):
    for what in ("policy", "worth"):
        refused = get(server, f"/v1/projects/clinic/{what}?stake={stake}")
        assert refused.status_code == 400, refused.text
        assert "stake" in refused.json()["detail"]


def test_a_stake_that_this_project_cannot_have_is_refused(server):
    refused = get(server, "/v1/projects/clinic/worth?stake=1e8")
    assert refused.status_code == 422
    assert "stake must be from 1e-11 to 10,000,000" in refused.json()["detail"]
    assert refused.json()["errors"][0]["pointer"] == "query:stake"


def test_a_project_with_a_budget_has_a_policy_for_one_stake(server):
    learner = aw.Learner(MODEL.problem, budget=aw.Budget(spend_per_case=2.0))
    saved = base64.b64encode(learner.to_bytes()).decode()
    assert post(server, "/v1/projects", {"name": "ward", "saved": saved}).status_code == 201
    found = get(server, "/v1/projects/ward/policy?stake=2")
    assert found.status_code == 200, found.text
    assert found.json()["stake"] == 2.0
    summary = get(server, "/v1/projects/ward/summary").json()
    assert summary["budget"]["spent"] == 0.0
    assert summary["budget"]["allowed"] == 2.0
    assert summary["budget"]["shadow_price"] >= 0.0
    assert get(server, "/v1/projects/clinic/summary").json()["budget"] is None


def test_many_stakes_do_not_wait_for_ever(monkeypatch):
    """Each takes its time, and there are more of them than versions."""
    release = threading.Event()
    monkeypatch.setattr(explanations, "worth", lambda planned, stake: release.wait(60))

    class Planned:
        version = 1

    async def ask():
        found = Explanations()
        tasks = [asyncio.create_task(found.worth(1, Planned, 2.0 + k)) for k in range(MOST_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(Refusal, match="too many stakes") as refused:
            await found.worth(1, Planned, 1.5)
        usual = asyncio.create_task(found.worth(1, Planned))
        await asyncio.sleep(0)
        release.set()
        await asyncio.gather(*tasks, usual)
        await found.worth(1, Planned, 1.5)
        found.close()
        return refused.value.status

    assert asyncio.run(ask()) == 503


def test_many_stakes_leave_the_usual_answers_where_they_are(monkeypatch):
    worked = []
    monkeypatch.setattr(explanations, "worth", lambda planned, stake: worked.append(stake))

    class Planned:
        version = 1

    async def ask():
        found = Explanations()
        await found.worth(1, Planned)
        for k in range(2 * MOST_KEPT):
            await found.worth(1, Planned, 2.0 + k)
        await found.worth(1, Planned)
        found.close()
        return len(found._found)

    assert asyncio.run(ask()) == MOST_KEPT
    assert worked.count(1.0) == 1
