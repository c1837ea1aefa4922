"""What happens to a case when a request comes: the library decides, and says what to count.

A desk belongs to one project in one process. It keeps no case: records come in and go out, and what
was counted meanwhile is read from `counting`. The same steps taken again, from the events alone,
give the same records, answers and counters.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import msgspec

from askwise.cases import Case
from askwise.errors import AskwiseError, CaseError
from askwise.learners.base import BaseLearner
from askwise.policy import Policy
from askwise.service.counters import Counting
from askwise.service.errors import Refusal
from askwise.service.ledger.contract import Project
from askwise.service.messages import (
    Cancelling,
    CaseAnswer,
    Observing,
    Opening,
    Rewarding,
)
from askwise.service.policies import Planned, learner_of
from askwise.service.records import CaseRecord, Status, case_of, record_of
from askwise.statistics import MOST_PAID, PAID_UNIT

Request = Opening | Observing | Rewarding | Cancelling

KINDS: dict[type[Request], str] = {
    Opening: "open",
    Observing: "observe",
    Rewarding: "reward",
    Cancelling: "cancel",
}
BODIES = {kind: body for body, kind in KINDS.items()}

_encode = msgspec.json.Encoder().encode


class Step(NamedTuple):
    """A case after a request, and the answer to that."""

    record: CaseRecord
    status: int
    answer: bytes


class Desk:
    """Takes the steps of a project's cases."""

    def __init__(self, project: Project) -> None:
        self.project = project
        learner = learner_of(project)
        self.counting = Counting(learner)
        self.lattice = learner.lattice
        self._is_tagged = type(learner).tag is not BaseLearner.tag
        self._seed = project.seed.to_bytes(8, "little")

    def open(self, number: int, planned: Planned, body: Opening, at: int) -> Step:
        """A new case under this policy."""
        learner, counting = planned.learner, self.counting
        try:
            start = subset = 0
            if body.known is not None or self.lattice.has_given:
                start = learner.lattice.index(body.known or {})
                subset = 0 if start < self.lattice.contexts else self.lattice.subset_of(start)
        except (CaseError, OverflowError) as error:
            raise Refusal(422, str(error), "#/known") from None
        policy = _policy(planned, start, subset)
        case = Case(number, policy, counting, self.tag(number), start, subset)
        record = record_of(case, planned.version, at, learner, 0.0)
        counting.happened(at, number, "opened")
        counting.moved(number, None, record.status)
        if case.action_index >= 0:
            counting.happened(at, number, "acted")
        return Step(record, 201, _answer(case, record))

    def observe(
        self,
        number: int,
        record: CaseRecord,
        planned: Planned,
        body: Observing,
        at: int,
        paid_before: dict[tuple[int, int], int],
    ) -> Step:
        """What was bought showed something."""
        before = record.status
        if before != Status.OBSERVING:
            raise Refusal(409, f"case {number} wants nothing more: it {_is(before)}")
        if body.paid:
            self._check_paid(body.paid, paid_before)
        case, counting = self._case(number, record, planned), self.counting
        looks = len(case.path)
        try:
            case.observe(body.values, paid=body.paid)
        except (AskwiseError, OverflowError) as error:
            pointer = "#/paid" if str(error).startswith("paid") else "#/values"
            raise Refusal(422, str(error), pointer) from None
        for i, _ in case.path[looks:]:
            counting.bought(i)
        cost = case.cost
        counting.spent(at, number, record.spent, cost)
        if case.action_index >= 0:
            counting.happened(at, number, "acted")
        return self._stepped(case, record, planned, before, cost)

    def reward(
        self, number: int, record: CaseRecord, planned: Planned, body: Rewarding, at: int
    ) -> Step:
        """How well it went, now or much later."""
        before, earned = record.status, record.reward
        if body.default and body.replaces:
            raise Refusal(422, "a default replaces nothing: give default or replaces", "#/replaces")
        if before in (Status.OBSERVING, Status.CANCELLED):
            raise Refusal(409, f"case {number} {_is(before)}: there is nothing to reward")
        if before == Status.REWARDED and not body.default and not body.replaces:
            raise Refusal(
                409, f"case {number} has its reward already; replaces: true corrects it", "#/reward"
            )
        case, counting = self._case(number, record, planned), self.counting
        if body.default:
            case.reward_by_default(body.reward)
        else:
            case.reward(body.reward, replaces=body.replaces)
        if case.earned is not None and case.earned != earned:
            counting.earned(at, number, earned, case.earned)
        if earned is None:
            counting.happened(at, number, "rewarded")
        return self._stepped(case, record, planned, before, record.spent)

    def cancel(self, number: int, record: CaseRecord, planned: Planned, at: int) -> Step:
        """The case is abandoned."""
        before = record.status
        if before not in (Status.OBSERVING, Status.ACTED):
            raise Refusal(409, f"case {number} {_is(before)} already")
        case = self._case(number, record, planned)
        case.cancel()
        self.counting.happened(at, number, "cancelled")
        return self._stepped(case, record, planned, before, record.spent)

    def case(self, number: int, record: CaseRecord, planned: Planned) -> Case:
        """The case as it stands, to be read."""
        return self._case(number, record, planned)

    def tag(self, number: int) -> int:
        """What decides what a case tries: drawn once for ever, by its number."""
        if not self._is_tagged:
            return 0
        drawn = hashlib.blake2b(number.to_bytes(8, "little"), digest_size=8, key=self._seed)
        return int.from_bytes(drawn.digest(), "little") >> 2

    def _case(self, number: int, record: CaseRecord, planned: Planned) -> Case:
        start = record.start
        subset = 0 if start < self.lattice.contexts else self.lattice.subset_of(start)
        policy = _policy(planned, start, subset)
        return case_of(number, record, planned.learner, policy, self.counting)

    def _stepped(
        self, case: Case, old: CaseRecord, planned: Planned, before: Status, spent: float
    ) -> Step:
        record = record_of(case, planned.version, old.opened, planned.learner, spent)
        self.counting.moved(case.id, before, record.status)
        return Step(record, 200, _answer(case, record))

    def _check_paid(self, paid: dict[str, float], before: dict[tuple[int, int], int]) -> None:
        """All that was ever paid must fit: the library sees only what this group paid."""
        mine = self.counting.learner.statistics.paid_sums
        for name, amount in paid.items():
            i = self.lattice.positions.get(name, -1)
            if 0 <= i < self.lattice.buyable and amount >= 0:
                sum_of_all = (before.get((i, 0), 0) + int(mine[i])) * PAID_UNIT + amount
                if sum_of_all > MOST_PAID:
                    raise Refusal(
                        422,
                        f"{amount!r} paid for {name!r}: at most {MOST_PAID:,.0f} fit, together",
                        "#/paid",
                    )


def _policy(planned: Planned, start: int, subset: int) -> Policy:
    """What a case follows that began with this on file."""
    if not subset:
        return planned.policy
    learner = planned.learner
    with learner.lock:
        return learner._own_policy(planned.policy, learner.lattice, start, subset)


def _is(status: Status) -> str:
    return {
        Status.OBSERVING: "still wants something",
        Status.ACTED: "has its action",
        Status.DEFAULTED: "has its reward",
        Status.REWARDED: "has its reward",
        Status.CANCELLED: "is cancelled",
    }[status]


def _answer(case: Case, record: CaseRecord) -> bytes:
    # the property would take a lock; a case that is cancelled while it looks names no action
    chances = None if case.action_index < 0 else case._chances
    if callable(chances):
        chances = chances()
    answer = (case.id, case.wanted, case.action, record.spent, record.version, chances)
    return _encode(CaseAnswer(*answer))
