"""Groups that are decided before their project is locked, and what others did meanwhile."""

import secrets

import numpy as np
import pytest

from askwise.service.api.messages import Cancelling, Observing, Opening, Rewarding
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.decisions.commit_groups import CommitGroup, Operation
from askwise.service.decisions.jobs import Answer
from askwise.service.decisions.replay import verify
from askwise.service.decisions.writer import Writer
from askwise.service.replanning.policy_versions import PolicyCache
from serving import (  # noqa: F401 (fixtures)
    ask,
    create,
    database_fixture,
    decoded,
    ledger_fixture,
    postgres_fixture,
)

SEEN = {"mammogram": "low", "mri": "neg"}


class TwoStepWriter:
    """A writer whose groups are decided and written when the test says so."""

    def __init__(self, ledger):
        self.ledger = ledger
        self.writer = Writer(ledger, PolicyCache(ledger))

    def decide_ahead(self, *jobs):
        group = CommitGroup(jobs, self.writer._find_decider, self.writer._policy_cache)
        group.decide_ahead(self.ledger)
        return group

    def write(self, group):
        with self.ledger.transaction() as transaction:
            return group.write(transaction)


@pytest.fixture(name="two")
def two_fixture(ledger):
    create(Writer(ledger, PolicyCache(ledger)), learner="no-information")
    return TwoStepWriter(ledger), Writer(ledger, PolicyCache(ledger))


def operation(body, case=0, key=None):
    return Operation("clinic", key or secrets.token_hex(8), case, body)


def events(ledger):
    return ledger.events(ledger.project("clinic").id, 0, 10_000)


def test_a_case_that_changed_meanwhile_is_decided_anew(two, ledger):
    mine, other = two
    ask(other, Opening())
    group = mine.decide_ahead(operation(Rewarding(0.25), 1))
    ask(other, Rewarding(1.0), 1)
    (result,) = mine.write(group)
    assert result.status == 409
    assert "has its reward already" in result.detail
    assert [e.kind for e in events(ledger)] == ["open", "reward"]
    assert verify(ledger, "clinic").differences == []


def test_a_case_that_was_opened_meanwhile_is_found(two, ledger):
    mine, other = two
    group = mine.decide_ahead(operation(Cancelling(), 1))
    ask(other, Opening())
    (result,) = mine.write(group)
    assert result.status == 200
    assert verify(ledger, "clinic").differences == []


@pytest.mark.parametrize("body", [Opening(), Rewarding(0.5)])
def test_a_key_that_was_answered_meanwhile_has_that_answer(two, ledger, body):
    mine, other = two
    ask(other, Opening())
    case = 0 if isinstance(body, Opening) else 1
    group = mine.decide_ahead(operation(body, case, key="same"), operation(Opening()))
    first = ask(other, body, case, key="same")
    again, new = mine.write(group)
    assert again == first._replace(is_new=False)
    assert decoded(new)["case"] == 2 + (case == 0)
    assert [e.key for e in events(ledger)].count("same") == 1
    assert verify(ledger, "clinic").differences == []


def test_what_others_do_elsewhere_changes_nothing(two, ledger, monkeypatch):
    mine, other = two
    for _ in range(3):
        ask(other, Opening())
    group = mine.decide_ahead(operation(Opening()), operation(Rewarding(0.5), 2))
    ask(other, Rewarding(1.0), 1)
    ask(other, Opening())
    monkeypatch.setattr(CaseDecider, "step", None)  # nothing that was decided is decided again
    opened, rewarded = mine.write(group)
    monkeypatch.undo()
    assert decoded(opened)["case"] == 5
    assert rewarded.status == 200
    written = events(ledger)
    assert [e.seq for e in written] == list(range(1, len(written) + 1))
    assert [e.kind for e in written[-2:]] == ["open", "reward"]  # in the order they came
    assert verify(ledger, "clinic").differences == []


def test_within_a_group_the_order_is_kept(two, ledger):
    mine, _ = two
    group = mine.decide_ahead(
        operation(Rewarding(0.5), 1), operation(Opening()), operation(Rewarding(1.0), 1)
    )
    too_early, opened, rewarded = mine.write(group)
    assert [too_early.status, opened.status, rewarded.status] == [404, 201, 200]
    assert verify(ledger, "clinic").differences == []


@pytest.mark.parametrize("seed", range(3))
def test_two_who_decide_at_the_same_time_leave_one_history(ledger, seed):
    rng = np.random.default_rng(seed)
    create(Writer(ledger, PolicyCache(ledger)))
    writers = [TwoStepWriter(ledger), TwoStepWriter(ledger)]
    acknowledged = {}
    for _ in range(40):
        groups = []
        for writer in writers:
            jobs = [random_job(rng, len(acknowledged)) for _ in range(rng.integers(1, 6))]
            groups.append((writer, jobs, writer.decide_ahead(*jobs)))
        for writer, jobs, group in groups:
            for job, result in zip(jobs, writer.write(group), strict=True):
                if isinstance(result, Answer):
                    before = acknowledged.setdefault(job.key, result.body)
                    assert before == result.body
    written = {e.key: e.answer for e in events(ledger)}
    assert written == acknowledged
    assert verify(ledger, "clinic").differences == []


def random_job(rng, known):
    key = f"key-{rng.integers(known + 20)}"
    case = int(rng.integers(1, 15))
    body = [
        Opening(),
        Observing({rng.choice(list(SEEN)): SEEN["mri"]}),
        Observing({"mammogram": "low"}),
        Observing({"mri": "pos"}, {"mri": 3.5}),
        Rewarding(float(rng.integers(5)) / 4, replaces=bool(rng.integers(2))),
        Cancelling(),
    ][rng.choice(6, p=[0.3, 0.05, 0.25, 0.15, 0.2, 0.05])]
    return operation(body, 0 if isinstance(body, Opening) else case, key)


def test_a_case_in_memory_goes_on_as_one_from_the_ledger(ledger):
    create(Writer(ledger, PolicyCache(ledger)))
    keeps = Writer(ledger, PolicyCache(ledger))
    for forgets in (False, True):
        for reward in (0.0, 1.0):
            writer = Writer(ledger, PolicyCache(ledger)) if forgets else keeps
            case = decoded(ask(writer, Opening()))
            number = case["case"]
            while case["wanted"]:
                writer = Writer(ledger, PolicyCache(ledger)) if forgets else keeps
                seen = {name: SEEN[name] for name in case["wanted"]}
                case = decoded(ask(writer, Observing(seen), number))
            assert "propensity" in case
            writer = Writer(ledger, PolicyCache(ledger)) if forgets else keeps
            assert "propensity" not in decoded(ask(writer, Rewarding(reward), number))
    assert verify(ledger, "clinic").differences == []
