"""What the dashboard reads: blocks of cases, awaited rewards, reasons; recounted another way."""

import asyncio
import threading
import time
from functools import partial

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwise.service.api.messages import Cancelling, Observing, Opening, Rewarding
from askwise.service.dashboard import explanations as reasons
from askwise.service.dashboard.explanations import Explanations
from askwise.service.dashboard.summaries import awaited, summary
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.decisions.replay import verify
from askwise.service.decisions.stored_cases import decode_case
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.ledger.case_blocks import block_of, cases_of
from askwise.service.operations.demo import AWAITED, PROJECT, SimulatedPatients
from askwise.service.replanning.policy_versions import PolicyCache
from askwise.service.settings import Settings
from serving import PROBLEM, ask, create, decoded


@given(st.integers(1, 2**53 - 1))
def test_every_case_is_in_one_block_and_blocks_follow_one_another(case):
    block = block_of(case)
    cases = cases_of(block)
    assert case in cases
    assert cases_of(block + 1).start == cases.stop
    assert block_of(case + 1) - block == (case + 1 == cases.stop)


@given(st.integers(1025, 2**53 - 1))
def test_the_newer_half_of_the_cases_has_enough_points(cases):
    assert 32 <= block_of(cases) - block_of(cases - cases // 2) <= 64


def test_the_first_blocks_are_narrow():
    assert [len(cases_of(b)) for b in (0, 63, 64, 95, 96)] == [16, 16, 32, 32, 64]


def decider_of(ledger, project):
    return CaseDecider(project, partial(PolicyCache(ledger).version, project.id))


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
    found = summary(ledger, decider_of(ledger, project))
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


@pytest.fixture
def planned(tmp_path):
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    policy_cache = PolicyCache(ledger)
    create(Writer(ledger, policy_cache))
    yield policy_cache.version(ledger.project("clinic").id, 1)
    ledger.close()


def test_reasons_are_worked_out_once_however_many_ask(planned, monkeypatch):
    calls, release = [], threading.Event()

    def slow(one):
        calls.append(one.version)
        release.wait(10)
        return "the answer"

    monkeypatch.setattr(reasons, "worth", slow)

    async def many():
        found = Explanations()
        asked = [asyncio.create_task(found.worth(1, planned)) for _ in range(5)]
        await asyncio.sleep(0.05)
        asked[0].cancel()  # whoever leaves does not take the answer from the others
        release.set()
        answers = [await task for task in asked[1:]]
        answers.append(await found.worth(1, planned))
        found.close()
        return answers

    assert asyncio.run(many()) == ["the answer"] * 5
    assert calls == [1]


def test_reasons_that_failed_are_tried_again(planned, monkeypatch):
    calls = []

    def failing(one):
        calls.append(one)
        if len(calls) == 1:
            raise ZeroDivisionError
        return "the answer"

    monkeypatch.setattr(reasons, "policy_tree", failing)

    async def twice():
        found = Explanations()
        with pytest.raises(ZeroDivisionError):
            await found.tree(1, planned)
        answer = await found.tree(1, planned)
        found.close()
        return answer

    assert asyncio.run(twice()) == "the answer"


def test_reasons_before_the_first_case(planned):
    tree = msgspec.to_builtins(reasons.policy_tree(planned))
    assert tree["policy_version"] == 1
    worth = reasons.worth(planned)
    assert [o.name for o in worth.observations] == [o.name for o in PROBLEM.observations]
    assert worth.gain_of_nothing == pytest.approx(50)
    assert worth.gain_of_everything == pytest.approx(50 - 1 - 9 * 2 / 3)  # one MRI in three fails


def test_simulated_patients_come_at_once_and_none_is_left_without_its_result(tmp_path):
    db = str(tmp_path / "ledger.db")
    patients = SimulatedPatients(Settings(db=db))
    thread = threading.Thread(target=patients.run)
    thread.start()
    ledger = open_ledger(db)

    def awaits():
        project = ledger.project(PROJECT)
        return 0 if project is None else len(awaited(ledger, project.id, 500))

    deadline = time.monotonic() + 60
    while awaits() < AWAITED and time.monotonic() < deadline:
        time.sleep(0.05)
    patients.stop()
    thread.join(60)
    found = summary(ledger, decider_of(ledger, ledger.project(PROJECT)))
    assert found.cases >= AWAITED
    assert found.statuses["rewarded"] == found.cases
    assert awaits() == 0
    assert verify(ledger, PROJECT).differences == []
    ledger.close()
