"""For a request about a case, the library decides, and returns what to count.

A `CaseDecider` belongs to one project in one process. Cases come in and go out as they are stored,
and what was counted meanwhile is read from `changes`. The same steps taken again, from the events
alone, give the same cases, answers and counters. Cases that were just stored are kept in memory,
and used again if the ledger still has them just so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import msgspec

from askwise.counting import MOST_PAID, PAID_UNIT, UNIT
from askwise.errors import AskwiseError, CaseError, LedgerError
from askwise.learners.cases import Case
from askwise.learners.learner import rounds_of
from askwise.learners.observed_values import plan_after, share_of_reward
from askwise.learners.strategy import Strategy
from askwise.policy import Policy
from askwise.policy.alike import PolicyBetween
from askwise.service.api.messages import (
    Acting,
    Cancelling,
    CaseAnswer,
    Observing,
    Opening,
    Rewarding,
)
from askwise.service.api.refusals import Refusal, in_fields
from askwise.service.decisions.case_terms import Terms, policy_for, start_of, terms_of
from askwise.service.decisions.counter_changes import CounterChanges
from askwise.service.decisions.stored_cases import (
    CachedCase,
    CaseRecord,
    ServedCase,
    decode_case,
    resume_case,
    status_text,
)
from askwise.service.ledger.counters import split
from askwise.service.ledger.rows import Project, Status, StoredCase
from askwise.service.replanning.policy_versions import AnyVersion, PolicyVersion, learner_of
from askwise.service.replanning.thinning import AnsweredPolicy, ThinVersion
from askwise.states import Lattice

Request = Opening | Observing | Acting | Rewarding | Cancelling

KINDS: dict[type[Request], str] = {
    Opening: "open",
    Observing: "observe",
    Acting: "act",
    Rewarding: "reward",
    Cancelling: "cancel",
}
MOST_CACHED = 10_000
"""Cases that are kept in memory."""
MOST_OWN_POLICIES = 200
"""Cases with prices or a stake of their own that are kept in memory: each may keep a whole plan."""

BODIES = {kind: body for body, kind in KINDS.items()}

_encode = msgspec.json.Encoder().encode


Step = tuple[StoredCase, int, bytes]
"""A case after a request; the status and the body of the answer."""


class CaseDecider:
    """Decides what happens to the cases of one project.

    find_version: the policy of a version in the states of the project, by its number.
    """

    def __init__(
        self, project: Project, find_version: Callable[[Lattice, int], AnyVersion]
    ) -> None:
        self.project = project
        self._find_version = find_version
        learner = learner_of(project)
        self.changes = CounterChanges(learner)
        strategy = rounds_of(learner).strategy
        self.lattice = learner.statistics.lattice
        self._is_tagged = type(strategy).tag is not Strategy.tag
        self._seed = project.seed.to_bytes(8, "little")
        plans_anew = strategy.acquisition.plans_anew_for_files
        self._plans_for_files = plans_anew or bool(learner.problem.panels)
        """Whether a case that begins with something on file may need a policy of its own."""
        self._cached: dict[int, tuple[StoredCase, ServedCase]] = {}
        """Cases by number, each with how it was stored."""
        self.forgets = self.changes.blocks is not None
        """Whether what a step counts depends on how many cases were opened before it."""
        self._own_policies = 0
        """The number of cached cases that may keep their own policy in memory."""
        self._cached_version = 0
        """The version of the policy that the cached cases follow."""

    def find_version(self, version: int) -> AnyVersion:
        """The policy of this version, or what is left of it."""
        return self._find_version(self.lattice, version)

    def needs_own_policy(self, body: Opening) -> bool:
        """Whether a case that is opened like this may need a policy of its own."""
        return bool(body.prices or body.stake != 1.0 or (body.known and self._plans_for_files))

    def prepare(self, planned: PolicyVersion, body: Opening) -> Policy:
        """Plan for a case that will be opened: `open` finds this policy as long as it is kept."""
        return policy_for(planned, *start_of(self.lattice, body), terms_of(self.lattice, body))

    def plans_for(self, stored: StoredCase) -> bool:
        """Whether this case still looks for something, by a policy of its own."""
        if not stored.data:  # it was erased
            return False
        record = decode_case(stored)
        has_terms = bool(record.own_prices) or record.stake != 1.0
        is_filed = self._plans_for_files and record.start >= self.lattice.contexts
        return bool(record.looks) and (has_terms or is_filed)

    def prepare_step(self, stored: StoredCase, body: Request) -> Policy | None:
        """Plan for a case that will go on: `resume` finds this policy as long as it is kept.

        A policy between those of two stakes then has its plan for the states in which it needs one:
        those of the case's path, and the one that the request leads to.
        """
        record = decode_case(stored)
        planned = self._find_version(self.lattice, record.version)
        if not isinstance(planned, PolicyVersion):
            return None
        policy = self._policy_of(planned, record)
        if isinstance(policy, PolicyBetween):
            case = resume_case(stored.id, record, planned.lattice, policy, self.changes).case
            if isinstance(body, Observing):
                with suppress(AskwiseError, OverflowError):  # the writer refuses such values
                    plan_after(case, body.values, unasked=body.unasked)
        return policy

    def open(self, number: int, planned: PolicyVersion, body: Opening, at: int) -> Step:
        """Open a case under this policy."""
        policy = policy_for(planned, *start_of(self.lattice, body), terms_of(self.lattice, body))
        return self._open(number, planned, policy, body, at)

    def open_as_answered(
        self, number: int, thin: ThinVersion, body: Opening, at: int, answer: CaseAnswer
    ) -> Step:
        """Open a case again whose policy was thinned: it does what was answered."""
        (_, subset), terms = start_of(self.lattice, body), terms_of(self.lattice, body)
        filed = thin.lattice.tariff.in_panels(thin.lattice.members(subset))
        lattice = (
            thin.lattice.priced(terms.prices, filed) if filed or terms.prices else thin.lattice
        )
        policy: Any = AnsweredPolicy(lattice, answer)
        return self._open(number, thin, policy, body, at)

    def _open(
        self, number: int, planned: AnyVersion, policy: Policy, body: Opening, at: int
    ) -> Step:
        (start, subset), terms = start_of(self.lattice, body), terms_of(self.lattice, body)
        case = Case(number, policy, self.changes, self.tag(number), start, subset, terms.stake)
        served = ServedCase(case, planned.version, planned.lattice, at, prices=terms.prices)
        served.spent = case.cost  # of an action that is taken at once
        spent = split(served.spent, PAID_UNIT)
        self.changes.count_step(at, number, None, served.status, spent=spent)
        return self._answer(served, 201, has_acted=case.action_index >= 0)

    def step(
        self,
        served: ServedCase,
        body: Request,
        at: int,
        paid_before: dict[tuple[int, int], int],
    ) -> Step:
        """Take the step of a case that is open."""
        if isinstance(body, Observing):
            return self.observe(served, body, at, paid_before)
        if isinstance(body, Acting):
            return self.act(served, body, at)
        if isinstance(body, Rewarding):
            return self.reward(served, body, at)
        return self.cancel(served, at)

    def observe(
        self, served: ServedCase, body: Observing, at: int, paid_before: dict[tuple[int, int], int]
    ) -> Step:
        """Take in what was bought: the case wants more, or has its action."""
        case, changes = served.case, self.changes
        is_open = served.status == Status.OBSERVING
        if not is_open and not (body.unasked and served.status == Status.ACTED):
            raise Refusal(
                409, f"case {case.id} wants nothing more: it {status_text(served.status)}"
            )
        if body.paid:
            self._check_paid(body.paid, paid_before)
        looks = len(case.path)
        try:
            how = {"unasked": body.unasked, "knew_more": body.knew_more}
            case.observe(body.values, paid=body.paid, **how)
        except (AskwiseError, OverflowError) as error:
            pointer = "#/paid" if str(error).startswith("paid") else "#/values"
            raise Refusal(422, in_fields(str(error)), pointer) from None
        for i, _ in case.path[looks:]:
            changes.bought[i] += 1
        self._count_spent(served, at)
        return self._answer(served, has_acted=is_open and case.action_index >= 0)

    def act(self, served: ServedCase, body: Acting, at: int) -> Step:
        """Take in what people did, whatever was advised."""
        case = served.case
        if served.status not in (Status.OBSERVING, Status.ACTED):
            raise Refusal(409, f"case {case.id} {status_text(served.status)} already")
        # a repetition changes nothing, whatever else it says: ledgers hold such events
        is_repeated = case.is_overruled and case.action == body.action
        try:
            if not is_repeated:
                case.act(body.action, knew_more=body.knew_more, propensity=body.propensity)
        except AskwiseError as error:
            raise Refusal(422, in_fields(str(error)), "#/action") from None
        self._count_spent(served, at)
        return self._answer(served)

    def _count_spent(self, served: ServedCase, at: int) -> None:
        """Counts what a step has cost, for observations or for the action."""
        spent, served.spent = split(served.spent, PAID_UNIT), served.case.cost
        more = _less(split(served.spent, PAID_UNIT), spent)
        before = served.update_status()
        self.changes.count_step(at, served.case.id, before, served.status, spent=more)

    def reward(self, served: ServedCase, body: Rewarding, at: int) -> Step:
        """Take in a reward, now or much later."""
        case, status, share = served.case, served.status, served.case.share
        if body.default and body.replaces:
            raise Refusal(422, "a default replaces nothing: give default or replaces", "#/replaces")
        try:
            share_of_reward(case, body.reward)
        except CaseError as error:
            raise Refusal(422, f"reward: {in_fields(str(error))}", "#/reward") from None
        if status in (Status.OBSERVING, Status.CANCELLED):
            wants = f" ({', '.join(case.wanted)})" if status == Status.OBSERVING else ""
            raise Refusal(
                409, f"case {case.id} {status_text(status)}{wants}: there is nothing to reward"
            )
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
        assert case.share is not None
        more = _earned(case, case.share)
        if share is not None:
            more = _less(more, _earned(case, share))
        else:
            self.changes.count_stake(at, case.id, case.stake)
        self.changes.count_step(at, case.id, served.update_status(), served.status, earned=more)
        return self._answer(served)

    def cancel(self, served: ServedCase, at: int) -> Step:
        """Abandon the case: there will be no action, or no reward."""
        case = served.case
        if served.status not in (Status.OBSERVING, Status.ACTED):
            raise Refusal(409, f"case {case.id} {status_text(served.status)} already")
        case.cancel()
        self.changes.count_step(at, case.id, served.update_status(), served.status)
        return self._answer(served)

    def cached(self, numbers: Iterable[int]) -> dict[int, StoredCase]:
        """Returns the cases that are in memory, as they were last stored."""
        cached = self._cached
        return {number: cached[number][0] for number in numbers if number in cached}

    def cached_case(self, number: int) -> CachedCase | None:
        """The case, if it is in memory just now; any thread may ask."""
        found = self._cached.get(number)
        return None if found is None else CachedCase(found[0], found[1].may_plan)

    def read(self, stored: StoredCase) -> ServedCase:
        """The case that was stored like this, to be looked at: nothing is planned for it."""
        if not stored.data:
            raise Refusal(410, f"case {stored.id} was erased", "path:case")
        record = decode_case(stored)
        lattice = self._find_version(self.lattice, record.version).lattice
        return resume_case(stored.id, record, lattice, None, self.changes)

    def resume(
        self, stored: StoredCase, answer: CaseAnswer | None = None, *, looks: bool = True
    ) -> ServedCase:
        """The case that was stored like this, to go on with; the caller may change it.

        If the policy was thinned, a case that has not acted repeats the stored answer. With
        `looks=False` the case is not to look any further, so nothing is planned for it.
        """
        if not stored.data:
            raise Refusal(410, f"case {stored.id} was erased", "path:case")
        cached = self._cached.pop(stored.id, None)
        if cached is not None:
            self._own_policies -= cached[1].has_own_terms
        if cached is not None and cached[0] == stored:
            served = cached[1]
            before: Any = served.case.policy
            if isinstance(before, AnsweredPolicy) and answer is not None:
                now: Any = AnsweredPolicy(before.lattice, answer)
                served.case.follow(now)
            return served
        record = decode_case(stored)
        planned = self._find_version(self.lattice, record.version)
        policy: Any = None
        looks = looks and bool(record.looks)
        if looks and isinstance(planned, ThinVersion):
            if answer is None:
                raise LedgerError(f"the policy of case {stored.id} was thinned")
            policy = AnsweredPolicy(planned.lattice, answer)
        elif looks and isinstance(planned, PolicyVersion):
            policy = self._policy_of(planned, record)
        return resume_case(stored.id, record, planned.lattice, policy, self.changes)

    def _policy_of(self, planned: PolicyVersion, record: CaseRecord) -> Policy:
        """The policy of a case that has been opened under this version."""
        start = record.start
        subset = 0 if start < self.lattice.contexts else self.lattice.subset_of(start)
        return policy_for(planned, start, subset, Terms(record.own_prices, record.stake))

    def tag(self, number: int) -> int:
        """The random number that decides what a case explores: always the same for its number."""
        if not self._is_tagged:
            return 0
        drawn = hashlib.blake2b(number.to_bytes(8, "little"), digest_size=8, key=self._seed)
        return int.from_bytes(drawn.digest(), "little") >> 2

    def _answer(self, served: ServedCase, status: int = 200, *, has_acted: bool = False) -> Step:
        case = served.case
        # once, when it acts: later the case may come from the ledger, which does not have it
        propensity = case.propensity if has_acted else None
        answer = CaseAnswer(
            case=case.id,
            wanted=case.wanted,
            action=case.action,
            cost=served.spent,
            policy_version=served.version,
            propensity=propensity,
        )
        stored = served.stored()
        if served.status in (Status.OBSERVING, Status.ACTED):
            self._cache(stored, served)
        return stored, status, _encode(answer)

    def _cache(self, stored: StoredCase, served: ServedCase) -> None:
        """Keep a case in memory; only cases of the newest policy, so that older ones can go."""
        if served.version > self._cached_version or len(self._cached) >= MOST_CACHED:
            self._cached.clear()
            self._own_policies = 0
            self._cached_version = max(served.version, self._cached_version)
        is_own = served.has_own_terms
        if served.version == self._cached_version and not (
            is_own and self._own_policies >= MOST_OWN_POLICIES
        ):
            self._cached[stored.id] = (stored, served)
            self._own_policies += is_own

    def _check_paid(self, paid: dict[str, float], before: dict[tuple[int, int], int]) -> None:
        """Refuse what does not fit with all that was ever paid: the library sees one group only."""
        in_group = self.changes.rounds.now.statistics.paid_sums
        for name, amount in paid.items():
            i = self.lattice.positions.get(name, -1)
            if 0 <= i < self.lattice.buyable and amount >= 0:
                sum_of_all = (before.get((i, 0), 0) + int(in_group[i])) * PAID_UNIT + amount
                if sum_of_all > MOST_PAID:
                    raise Refusal(
                        422,
                        f"{amount!r} paid for {name!r}: at most {MOST_PAID:,.0f} fit, together",
                        "#/paid",
                    )


def _earned(case: Case, share: float) -> tuple[int, int]:
    """Returns what a case adds to Σr of its day and block, so that n low + β Σr is the earnings.

    It earned stake · (low + β r), and counts as one of n.
    """
    problem, stake = case.lattice.problem, case.stake
    more = (stake - 1.0) * problem.lowest_reward / problem.reward_value
    return split(stake * share + more, UNIT)


def _less(after: tuple[int, int], before: tuple[int, int]) -> tuple[int, int]:
    return after[0] - before[0], after[1] - before[1]
