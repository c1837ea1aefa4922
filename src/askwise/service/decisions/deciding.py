"""What happens to a case when a request comes: the library decides, and says what to count.

A desk belongs to one project in one process. Cases come in and go out as they are stored, and what
was counted meanwhile is read from `counting`. The same steps taken again, from the events alone,
give the same cases, answers and counters. Cases that were just stored are kept at hand, and used
again if the ledger still has them just so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

import msgspec

from askwise.counting import MOST_PAID, PAID_UNIT, UNIT
from askwise.errors import AskwiseError, CaseError
from askwise.learners.cases import Case
from askwise.learners.learner import rounds_of
from askwise.learners.strategy import Strategy
from askwise.policy import Policy
from askwise.service.decisions.stored_cases import KeptCase, Status, restored, resumed
from askwise.service.http.messages import (
    Cancelling,
    CaseAnswer,
    Observing,
    Opening,
    Rewarding,
)
from askwise.service.http.problems import Refusal
from askwise.service.ledger.contract import Project, StoredCase
from askwise.service.replanning.counters import Counting
from askwise.service.replanning.versions import Planned, learner_of

Request = Opening | Observing | Rewarding | Cancelling

KINDS: dict[type[Request], str] = {
    Opening: "open",
    Observing: "observe",
    Rewarding: "reward",
    Cancelling: "cancel",
}
MOST_HELD = 10_000
"""Cases at hand."""

BODIES = {kind: body for body, kind in KINDS.items()}

_encode = msgspec.json.Encoder().encode


Step = tuple[StoredCase, int, bytes]
"""A case after a request; the status and the body of the answer."""


class Desk:
    """Takes the steps of a project's cases."""

    def __init__(self, project: Project, planned: Callable[[int], Planned]) -> None:
        self.project = project
        self._planned = planned
        """The policy of a version."""
        learner = learner_of(project)
        self.counting = Counting(learner)
        strategy = rounds_of(learner).strategy
        self.lattice = learner.statistics.lattice
        self._is_tagged = type(strategy).tag is not Strategy.tag
        self._seed = project.seed.to_bytes(8, "little")
        self.plans_for_files = strategy.acquisition.plans_anew_for_files or bool(
            learner.problem.panels
        )
        """Whether a case that begins with something on file may need a policy of its own."""
        self._held: dict[int, tuple[StoredCase, KeptCase]] = {}
        """Cases as they were when they were stored like this."""
        self._version = 0
        """Of the policy that those follow."""

    def prepare(self, planned: Planned, body: Opening) -> None:
        """Plan for a case that will be opened, so that `open` finds its policy."""
        _policy(planned, *self._start(body))

    def open(self, number: int, planned: Planned, body: Opening, at: int) -> Step:
        """A new case under this policy."""
        start, subset = self._start(body)
        policy = _policy(planned, start, subset)
        case = Case(number, policy, self.counting, self.tag(number), start, subset)
        kept = KeptCase(case, planned.version, planned.learner.statistics.lattice, at)
        self.counting.stepped(at, number, None, kept.status)
        return self._answered(kept, 201, has_acted=case.action_index >= 0)

    def step(
        self,
        kept: KeptCase,
        body: Request,
        at: int,
        paid_before: dict[tuple[int, int], int],
    ) -> Step:
        """What the request does to a case."""
        if isinstance(body, Observing):
            return self.observe(kept, body, at, paid_before)
        if isinstance(body, Rewarding):
            return self.reward(kept, body, at)
        return self.cancel(kept, at)

    def observe(
        self, kept: KeptCase, body: Observing, at: int, paid_before: dict[tuple[int, int], int]
    ) -> Step:
        """What was bought showed something."""
        case, counting = kept.case, self.counting
        if kept.status != Status.OBSERVING:
            raise Refusal(409, f"case {case.id} wants nothing more: it {_is(kept.status)}")
        if body.paid:
            self._check_paid(body.paid, paid_before)
        looks = len(case.path)
        try:
            case.observe(body.values, paid=body.paid)
        except (AskwiseError, OverflowError) as error:
            pointer = "#/paid" if str(error).startswith("paid") else "#/values"
            raise Refusal(422, str(error), pointer) from None
        for i, _ in case.path[looks:]:
            counting.bought[i] += 1
        spent, kept.spent = kept.spent, case.cost
        before = kept.moved()
        more = round(kept.spent / PAID_UNIT) - round(spent / PAID_UNIT)
        counting.stepped(at, case.id, before, kept.status, spent=more)
        return self._answered(kept, has_acted=case.action_index >= 0)

    def reward(self, kept: KeptCase, body: Rewarding, at: int) -> Step:
        """How well it went, now or much later."""
        case, status, earned = kept.case, kept.status, kept.case.earned
        if body.default and body.replaces:
            raise Refusal(422, "a default replaces nothing: give default or replaces", "#/replaces")
        if status in (Status.OBSERVING, Status.CANCELLED):
            wants = f" ({', '.join(case.wanted)})" if status == Status.OBSERVING else ""
            raise Refusal(409, f"case {case.id} {_is(status)}{wants}: there is nothing to reward")
        if status == Status.REWARDED and not body.default and not body.replaces:
            raise Refusal(
                409,
                f"case {case.id} has its reward already; replaces: true corrects it",
                "#/reward",
            )
        if body.default:
            case.reward_by_default(body.reward)
        else:
            case.reward(body.reward, replaces=body.replaces)
        assert case.earned is not None
        more = round(case.earned / UNIT) - round((earned or 0.0) / UNIT)
        self.counting.stepped(at, case.id, kept.moved(), kept.status, earned=more)
        return self._answered(kept)

    def cancel(self, kept: KeptCase, at: int) -> Step:
        """The case is abandoned."""
        case = kept.case
        if kept.status not in (Status.OBSERVING, Status.ACTED):
            raise Refusal(409, f"case {case.id} {_is(kept.status)} already")
        case.cancel()
        self.counting.stepped(at, case.id, kept.moved(), kept.status)
        return self._answered(kept)

    def at_hand(self, numbers: Iterable[int]) -> dict[int, StoredCase]:
        """Those of the cases that are at hand, as they were stored when they were seen last."""
        held = self._held
        return {number: held[number][0] for number in numbers if number in held}

    def take(self, stored: StoredCase) -> KeptCase:
        """The case that was stored like this, to go on with: whoever takes it may change it."""
        held = self._held.pop(stored.id, None)
        if held is not None and held[0] == stored:
            return held[1]
        record = restored(stored)
        planned, start = self._planned(record.version), record.start
        subset = 0 if start < self.lattice.contexts else self.lattice.subset_of(start)
        policy = _policy(planned, start, subset)
        return resumed(stored.id, record, planned.learner.statistics.lattice, policy, self.counting)

    def tag(self, number: int) -> int:
        """What decides what a case tries: drawn once for ever, by its number."""
        if not self._is_tagged:
            return 0
        drawn = hashlib.blake2b(number.to_bytes(8, "little"), digest_size=8, key=self._seed)
        return int.from_bytes(drawn.digest(), "little") >> 2

    def _start(self, body: Opening) -> tuple[int, int]:
        """The state that a case begins in, and of which subset it is."""
        if body.known is None and not self.lattice.has_given:
            return 0, 0
        try:
            start = self.lattice.index(body.known or {})
        except (CaseError, OverflowError) as error:
            raise Refusal(422, str(error), "#/known") from None
        return start, 0 if start < self.lattice.contexts else self.lattice.subset_of(start)

    def _answered(self, kept: KeptCase, status: int = 200, *, has_acted: bool = False) -> Step:
        case = kept.case
        # once, when it acts: later the case may come from the ledger, which does not have them
        chances = case.propensity if has_acted else None
        answer = CaseAnswer(case.id, case.wanted, case.action, kept.spent, kept.version, chances)
        stored = kept.stored()
        if kept.status in (Status.OBSERVING, Status.ACTED):
            self._hold(stored, kept)
        return stored, status, _encode(answer)

    def _hold(self, stored: StoredCase, kept: KeptCase) -> None:
        """Have it at hand; only cases of the newest policy, so that older ones can be let go."""
        if kept.version > self._version or len(self._held) >= MOST_HELD:
            self._held.clear()
            self._version = max(kept.version, self._version)
        if kept.version == self._version:
            self._held[stored.id] = (stored, kept)

    def _check_paid(self, paid: dict[str, float], before: dict[tuple[int, int], int]) -> None:
        """All that was ever paid must fit: the library sees only what this group paid."""
        mine = self.counting.rounds.now.statistics.paid_sums
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
    rounds = rounds_of(planned.learner)
    with rounds.lock:
        return rounds.policy_for_case(planned.policy, rounds.now.lattice, start, subset)


def _is(status: Status) -> str:
    return {
        Status.OBSERVING: "still wants something",
        Status.ACTED: "has its action",
        Status.DEFAULTED: "has its reward",
        Status.REWARDED: "has its reward",
        Status.CANCELLED: "is cancelled",
    }[status]
