"""What was earned, spent and is awaited, recounted by hand."""

from decimal import Decimal
from functools import partial

import numpy as np
import pytest

import askwise as aw
from askwise.service.api.messages import Cancelling, Observing, Opening, Rewarding
from askwise.service.dashboard.summaries import awaited, case_story, ledger_totals, summary
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.decisions.commit_groups import Operation
from askwise.service.decisions.replay import verify
from askwise.service.decisions.stored_cases import decode_case
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.ledger.rows import Increment
from askwise.service.replanning.policy_versions import PolicyCache
from askwise.service.replanning.replanner import Replanner
from serving import (  # noqa: F401 (fixtures)
    ask,
    create,
    database_fixture,
    decoded,
    ledger_fixture,
    postgres_fixture,
)

PRICES = {"mri": Decimal("12.4"), "scan": Decimal("0.1")}
REVIEW = Decimal("0.05")
PAID = Decimal("0.123457")


def summary_of(ledger):
    project = ledger.project("clinic")
    find = partial(PolicyCache(ledger).version_or_thin, project.id)
    return summary(ledger, CaseDecider(project, find))


def pay(writer, rewards, cases):
    """Cases that buy all there is at odd prices, in one commit a step; what they spent, by hand."""
    numbers = [decoded(ask(writer, Opening()))["case"] for _ in range(cases)]
    spend = Decimal(0)
    steps = []
    for number in numbers:
        paid = {"scan": float(PAID)} if number % 3 == 0 else None
        spend += PRICES["mri"] + (PAID if paid else PRICES["scan"]) + REVIEW
        steps.append(Observing({"mri": "neg", "scan": "a"}, paid=paid))
    for bodies in (steps, [Rewarding(float(rewards[n % len(rewards)])) for n in numbers]):
        jobs = [
            Operation("clinic", f"{type(body).__name__}-{number}", number, body)
            for number, body in zip(numbers, bodies, strict=True)
        ]
        assert {result.status for result in writer.commit(jobs)} == {200}
    return spend, sum(rewards[n % len(rewards)] for n in numbers)


def play(writer, rng, cases):
    """Cases of all kinds, and what became of each, written down by hand."""
    book = {}
    for _ in range(cases):
        case = decoded(ask(writer, Opening()))
        number, end = case["case"], rng.choice(["looking", "acted", "rewarded", "cancelled"])
        row = book[number] = {"spend": 0.0, "reward": 0.0, "is": "looking"}
        while case["wanted"] and end != "looking":
            values = {n: "low" if n == "mammogram" else "neg" for n in case["wanted"]}
            case = decoded(ask(writer, Observing(values), number))
        row["spend"] = case["cost"]
        if case["wanted"] and end != "cancelled":
            continue
        row["is"] = "acted" if case["action"] else "looking"
        if end == "cancelled":
            ask(writer, Cancelling(), number)
            row["was"], row["is"] = row["is"], "cancelled"
        if end == "rewarded":
            row["reward"], row["is"] = float(rng.integers(0, 5)) / 4, "rewarded"
            ask(writer, Rewarding(row["reward"]), number)
            if rng.random() < 0.3:
                row["reward"] = 1.0
                ask(writer, Rewarding(1.0, replaces=True), number)
    return book


def test_blocks_and_awaited_cases_equal_a_book_kept_by_hand(tmp_path):
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer)
    book = play(writer, np.random.default_rng(3), 60)
    project = ledger.project("clinic")
    found = summary(
        ledger, CaseDecider(project, partial(PolicyCache(ledger).version_or_thin, project.id))
    )
    assert [b.first for b in found.blocks] == [1, 17, 33, 49]
    for block in found.blocks:
        rows = [book[n] for n in range(block.first, min(block.last, 60) + 1)]
        assert block.spend == sum(row["spend"] for row in rows)
        assert block.reward == sum(row["reward"] for row in rows)
        assert block.rewarded == sum(row["is"] == "rewarded" for row in rows)
        assert block.awaited == sum(row["is"] == "acted" for row in rows)
        ever = ("acted", "rewarded")
        assert block.acted == sum(row["is"] in ever or row.get("was") == "acted" for row in rows)
    waiting = [n for n, row in book.items() if row["is"] == "acted"]
    assert waiting
    assert [case.id for case in awaited(ledger, project.id, 500)] == waiting
    assert [case.id for case in awaited(ledger, project.id, 2)] == waiting[:2]
    assert all(decode_case(c).reward is None for c in awaited(ledger, project.id, 500))
    ledger.close()


@pytest.mark.parametrize("is_money", [False, True])
def test_sums_are_what_was_paid_and_earned_to_a_millionth(ledger, is_money):
    worth = {"rewards": (-500.0, 30.3)} if is_money else {"reward_value": 99.9}
    problem = aw.Problem(
        observations=[
            aw.Observation("mri", values=["neg", "pos"], cost=float(PRICES["mri"])),
            aw.Observation("scan", values=["a", "b"], cost=float(PRICES["scan"])),
        ],
        actions=[aw.Action("review", cost=float(REVIEW))],
        **worth,
    )
    rewards = [Decimal(text) for text in (("12.34", "-80.01") if is_money else ("0.7", "0.1"))]
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer, problem=problem, learner="fixed-set", observations=["mri", "scan"])
    spend, earned = pay(writer, rewards, 1)
    assert summary_of(ledger).spend == float(spend)  # and not 12.549999237…
    spend, earned = (a + b for a, b in zip((spend, earned), pay(writer, rewards, 60), strict=True))
    found, gain = summary_of(ledger), earned * (1 if is_money else Decimal("99.9")) - spend
    assert (found.spend, found.reward, found.gain) == (float(spend), float(earned), float(gain))
    assert sum(Decimal(str(block.spend)) for block in found.blocks) == spend
    assert sum(Decimal(str(block.reward)) for block in found.blocks) == earned
    assert sum(Decimal(str(day.gain)) for day in found.days) == gain
    project = ledger.project("clinic")
    assert ledger_totals(ledger, project) == (float(gain), float(spend))
    assert verify(ledger, "clinic").differences == []


def test_a_ledger_that_counted_no_rests_is_right_too(ledger):
    """As an older askwise left it: sums are nearly right, and verified as they were counted."""
    problem = aw.Problem(
        observations=[
            aw.Observation("mri", values=["neg", "pos"], cost=float(PRICES["mri"])),
            aw.Observation("scan", values=["a", "b"], cost=float(PRICES["scan"])),
        ],
        actions=[aw.Action("review", cost=float(REVIEW))],
    )
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer, problem=problem, learner="fixed-set", observations=["mri", "scan"])
    spend, _ = pay(writer, [Decimal("0.7")], 20)
    project = ledger.project("clinic")
    with ledger.transaction() as transaction:
        transaction.lock([project.id])
        for kind in ("day rest", "block rest"):
            transaction.move_counters(project.id, kind, None)
    assert verify(ledger, "clinic").differences == []
    assert 0 < abs(summary_of(ledger).spend - float(spend)) < 20 * 2**-20
    with ledger.transaction() as transaction:  # still older: it did not count graded rewards either
        transaction.lock([project.id])
        transaction.move_counters(project.id, "graded_sums", None)
    assert verify(ledger, "clinic").differences == []
    for case in range(1, 20):
        assert ask(writer, Rewarding(0.0, replaces=True), case).status == 200
    assert min(ledger.counter_values(project.id, "graded_sums").values()) < 0
    assert Replanner(ledger).step() == 1  # and what is planned can be read again
    planned = PolicyCache(ledger).newest(project.id, ledger.project("clinic").version)
    assert planned.version == 2
    more, _ = pay(writer, [Decimal("0.7")], 20)
    assert verify(ledger, "clinic").differences == []
    assert abs(summary_of(ledger).spend - float(spend + more)) < 20 * 2**-20


def test_a_rest_that_is_not_what_the_events_make_it_is_found(ledger):
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer)
    play(writer, np.random.default_rng(1), 4)
    project = ledger.project("clinic")
    with ledger.transaction() as transaction:
        head = transaction.lock([project.id])[project.id]
        transaction.append(project.id, head, [], [], [Increment("block rest", 0, 0, 1)])
    assert verify(ledger, "clinic").differences == [
        "counter block rest[0, 0]: 1 in the ledger, 0 from the events"
    ]


@pytest.mark.parametrize("is_older", [False, True])
def test_stakes_are_summed_where_cases_have_their_reward(ledger, is_older):
    """To a millionth, once each; and a ledger in which they were not counted is verified too."""
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer, learner="fixed-set", observations=["mammogram"])
    stakes = [0.1, 1.0, 20.0, 0.1, 1e6]
    for k, stake in enumerate(stakes):
        number = decoded(ask(writer, Opening(stake=stake)))["case"]
        ask(writer, Observing({"mammogram": "low"}), number)
        if k < 4:
            ask(writer, Rewarding(0.5, default=k == 3), number)
            ask(writer, Rewarding(1.0, replaces=k != 3), number)
    found = summary_of(ledger)
    assert [block.stake for block in found.blocks] == [21.2]
    assert [day.stake for day in found.days] == [21.2]
    assert verify(ledger, "clinic").differences == []
    if is_older:
        project = ledger.project("clinic").id
        with ledger.transaction() as transaction:
            transaction.lock([project])
            for kind in ("day stake", "block stake"):
                transaction.move_counters(project, kind, None)
        assert verify(ledger, "clinic").differences == []
        assert summary_of(ledger).blocks[0].stake == 4.0
        ask(writer, Rewarding(1.0), 5)
        assert verify(ledger, "clinic").differences == []


def test_the_fee_of_a_panel_is_due_as_long_as_only_a_refund_came_from_it(ledger):
    writer = Writer(ledger, PolicyCache(ledger))
    problem = aw.Problem(
        observations=[
            aw.Observation("a", values=["low", "high"], cost=1.0, fails="refunded"),
            aw.Observation("b", values=["low", "high"], cost=2.0),
        ],
        actions=["wait", "treat"],
        reward_value=100.0,
        panels=[aw.Panel(["a", "b"], fee=5.0)],
    )
    create(writer, problem=problem, learner="fixed-set", observations=["a", "b"])
    project = ledger.project("clinic")
    decider = CaseDecider(project, partial(PolicyCache(ledger).version_or_thin, project.id))

    def prices():
        return case_story(decider, ledger.case(project.id, 1)).prices

    ask(writer, Opening())
    assert prices() == {"a": 6.0, "b": 2.0}
    assert decoded(ask(writer, Observing({"a": None}), 1))["cost"] == 0.0
    assert prices() == {"b": 7.0}
    assert decoded(ask(writer, Observing({"b": "low"}), 1))["cost"] == 7.0
