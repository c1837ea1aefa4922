"""Why a policy decides as it does: worked out once for all that ask, and right before any case."""

import asyncio
import threading
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import pytest

import askwise as aw
from askwise.service.dashboard import explanations
from askwise.service.dashboard.explanations import Explanations
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.replanning.policy_versions import PolicyCache
from serving import PROBLEM, create
from waiting import PATIENCE


@pytest.fixture
def planned(tmp_path):
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    policy_cache = PolicyCache(ledger)
    create(Writer(ledger, policy_cache))
    yield policy_cache.version(ledger.project("clinic").id, 1)
    ledger.close()


def test_explanations_are_worked_out_once_however_many_ask(planned, monkeypatch):
    calls, release = [], threading.Event()

    def slow(one, stake):
        calls.append(one.version)
        release.wait(PATIENCE)
        return "the answer"

    monkeypatch.setattr(explanations, "worth", slow)

    async def many():
        found = Explanations()
        asked = [asyncio.create_task(found.worth(1, planned)) for _ in range(5)]
        await asyncio.sleep(0.05)
        asked[0].cancel()  # a client that leaves does not take the answer from others
        release.set()
        answers = [await task for task in asked[1:]]
        answers.append(await found.worth(1, planned))
        found.close()
        return answers

    assert asyncio.run(many()) == ["the answer"] * 5
    assert calls == [1]


def test_explanations_that_failed_are_tried_again(planned, monkeypatch):
    calls = []

    def failing(one, stake):
        calls.append(one)
        if len(calls) == 1:
            raise ZeroDivisionError
        return "the answer"

    monkeypatch.setattr(explanations, "policy_tree", failing)

    async def twice():
        found = Explanations()
        with pytest.raises(ZeroDivisionError):
            await found.tree(1, planned)
        answer = await found.tree(1, planned)
        found.close()
        return answer

    assert asyncio.run(twice()) == "the answer"


def test_the_value_of_a_policy_is_the_gain_at_the_root_of_its_tree(planned):
    played(planned.learner)
    answer = explanations.policy_tree(replace(planned, policy=planned.learner.policy))
    for shown in (answer.follows, answer.recommends):
        assert shown.value == shown.tree["gain"]
    # of what a round follows the plan hopes for more, or for less: its repr says which it is
    assert planned.learner.policy.value != answer.follows.value
    assert "of planned value" in repr(planned.learner.policy)
    assert "of value" in repr(planned.learner.recommend())


def played(learner, cases=40):
    """Some cases of a made-up patient: treat who has a high mammogram."""
    for k in range(cases):
        case, seen = learner.open(), {"mammogram": ("low", "high")[k % 2], "mri": "neg"}
        while case.wanted:
            case.observe({name: seen[name] for name in case.wanted})
        case.reward(float((case.action == "treat") == (k % 2 == 1)))
    learner.replan()


def test_explanations_before_the_first_case(planned):
    tree = msgspec.to_builtins(explanations.policy_tree(planned))
    assert tree["policy_version"] == 1
    worth = explanations.worth(planned)
    assert [o.name for o in worth.observations] == [o.name for o in PROBLEM.observations]
    assert {o.verdict for o in worth.observations} == {"no cases yet"}
    for o in worth.observations:
        assert (o.adds, o.adds_if_free, o.break_even, o.break_even_high) == (None,) * 4
        assert (o.demand, o.demand_band) == ([], [])
    assert worth.still_to_learn is None
    assert worth.gain_of_nothing == pytest.approx(50)
    assert worth.gain_of_everything == pytest.approx(50 - 1 - 9 * 2 / 3)  # one MRI in three fails


def test_what_a_summary_began_and_failed_is_said_once_and_tried_with_the_next_version(
    planned, monkeypatch, capfd
):
    calls = []

    def failing(one, stake):
        calls.append(one.version)
        raise ZeroDivisionError

    monkeypatch.setattr(explanations, "worth", failing)

    async def ask_often():
        found = Explanations()
        for version in (1, 1, 1, 2, 2):
            assert found.still_to_learn(1, replace(planned, version=version)) is None
            await asyncio.sleep(0.05)
        found.close()

    asyncio.run(ask_often())
    assert calls == [1, 2]
    said = [msgspec.json.decode(line) for line in capfd.readouterr().err.splitlines()]
    assert [line["error"] for line in said] == ["ZeroDivisionError"] * 2


def test_in_a_panel_cost_and_fees_are_what_is_paid():
    """It costs 8 alone and 3 in the panel, whose fee is 6: alone it is 5 more than at least."""
    problem = aw.Problem(
        observations=[
            aw.Observation("registry", values=["low", "high"], cost=8.0),
            aw.Observation("photo", values=["pass", "fail"], cost=15.0),
        ],
        panels=[aw.Panel({"registry": 3.0, "photo": 9.0}, fee=6.0)],
        actions=["pay", "investigate"],
        reward_value=100,
    )
    planned = SimpleNamespace(version=1, learner=aw.Learner(problem, rng=0))
    registry, photo = explanations.worth(planned).observations
    assert (registry.cost, registry.fees) == (3.0, 5.0)
    assert photo.cost + photo.fees == 15.0
