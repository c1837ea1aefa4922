"""What was earned, spent and is awaited, recounted by hand."""

from functools import partial

import numpy as np

from askwise.service.api.messages import Cancelling, Observing, Opening, Rewarding
from askwise.service.dashboard.summaries import awaited, summary
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.decisions.stored_cases import decode_case
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.replanning.policy_versions import PolicyCache
from serving import ask, create, decoded


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
