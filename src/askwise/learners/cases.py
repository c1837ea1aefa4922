"""The life of a case: open → observing → acted → rewarded; or cancelled before that."""

from __future__ import annotations

from collections.abc import Mapping

from askwise.errors import CaseError
from askwise.learners.case_owner import CaseOwner
from askwise.learners.case_snapshots import CaseSnapshot
from askwise.learners.observed_values import (
    check_allowed,
    check_awaits_reward,
    observed,
    prices_told,
    wanted_names,
)
from askwise.learners.people import NOTHING, check_flag, check_propensity, with_told
from askwise.policy import Policy
from askwise.policy.tables import Propensities
from askwise.problem import Seen, Value
from askwise.states import Lattice


class Case:
    """One decision. It follows the policy it was opened under, whatever is learned meanwhile."""

    __slots__ = (
        "_lattice",
        "_looks",
        "_owner",
        "_policy",
        "_propensities",
        "action_index",
        "block",
        "id",
        "is_by_default",
        "is_cancelled",
        "path",
        "people",
        "share",
        "stake",
        "start",
        "state_index",
        "subset",
        "tag",
        "wanted",
    )

    def __init__(
        self,
        id: int,
        policy: Policy,
        owner: CaseOwner,
        tag: int = 0,
        start: int = 0,
        subset: int = 0,
        stake: float = 1.0,
    ) -> None:
        self.id = id
        """Its number among the learner's cases; `learner.cases[id]` finds it again."""
        self.stake = stake
        """How many times its reward counts."""
        self.start = start
        """What was known when it was opened, as an integer of the lattice."""
        self.state_index = start
        """What is known, as an integer of the lattice."""
        self.subset = subset
        """The subset that this is a state of: what was bought, or on file."""
        self.path: list[tuple[int, int]] = []
        """What was bought, in order: (observation, the state it led to)."""
        self.action_index = -1
        self.tag = tag
        """What the learner wants to remember of the case until its reward comes."""
        self.share: float | None = None
        """Its reward from 0 to 1, once it has come."""
        self.is_by_default = False
        """Whether that was put in its place because none came."""
        self.is_cancelled = False
        self.people = NOTHING
        """What people did in it beside what it advised."""
        self.block = 0
        """In which block of its learner's memory the reward was counted."""
        self._propensities: Propensities | None = None
        self._owner = owner
        self._policy: Policy | None = policy
        self._lattice = policy.lattice.per_unit
        self._looks: tuple[int, ...] = policy.looks_in_case(start, tag)
        self.wanted: tuple[str, ...] = self._lattice.names_of(self._looks)
        """The names to buy now: a whole set, or one; none once the action is chosen."""
        if not self._looks:
            self._act(policy)

    @classmethod
    def resumed(
        cls, snapshot: CaseSnapshot, owner: CaseOwner, lattice: Lattice, policy: Policy | None
    ) -> Case:
        """A case that goes on from where it was: nothing is counted.

        It follows the policy, unless that is None since it has acted. `lattice` has the prices of
        this case.
        """
        case = object.__new__(cls)
        case.id, case.start, case.path, case.tag = snapshot[:4]
        case.state_index = case.path[-1][1] if case.path else case.start
        case.subset = lattice.subset_of(case.state_index)  # raises if there is no such state
        case.action_index, case.share = snapshot.action, snapshot.share
        case.block = snapshot.block
        case.is_by_default, case.is_cancelled = snapshot.is_by_default, snapshot.is_cancelled
        if policy is not None:
            for _, state in case.path:
                policy = policy.in_state(state)
        case._owner, case._lattice, case._policy = owner, lattice, policy
        case._propensities = snapshot.propensities
        case.stake, case.people = snapshot.stake, snapshot.people
        looks = snapshot.looks
        if looks is None:
            looks = () if policy is None else policy.looks_in_case(case.state_index, case.tag)
        case._looks = looks
        case.wanted = lattice.names_of(looks)
        return case

    # --- what it knows ---------------------------------------------------------------------------

    @property
    def lattice(self) -> Lattice:
        """The states that it can be in."""
        return self._lattice

    @property
    def action(self) -> str | None:
        """What to do, or what people did; None while something is still wanted."""
        actions = self._lattice.problem.action_names
        return None if self.action_index < 0 else actions[self.action_index]

    @property
    def state(self) -> dict[str, Value | None]:
        """What is known: what was given or on file, and what was bought; None is a failure."""
        return self._lattice.state(self.state_index)

    @property
    def cost(self) -> float:
        """What was spent so far, on observations and on the action; what was on file is free."""
        lattice, action = self._lattice, self.action_index
        acting = 0.0 if action < 0 else lattice.problem.actions[action].cost
        if self.start < lattice.contexts:
            return acting + lattice.spent(self.state_index, self.subset)
        bought = {i for i, _ in self.path}
        charged = [i for i in lattice.charged(self.state_index) if i in bought]
        return acting + lattice.tariff.cost_of(charged)

    @property
    def propensity(self) -> tuple[float, ...] | None:
        """How likely each step was, given what was seen: the looks, then the action.

        A step is a decision. Buying one after the other, every look is one, that which is wanted
        now included; buying at once, the set is one. The last is the action together with stopping:
        the product is the probability of all that was done, and over all that could have been done
        the products sum to 1. A learner that does not randomise has 1.0 everywhere. One that draws
        a policy for a round has the probabilities under that policy. None if they are not known: of
        what people did they are only if it was told.
        """
        with self._owner.lock:
            policy = self._policy
            chances = self._propensities if policy is None else self._propensities_so_far(policy)
            return chances() if callable(chances) else chances

    @property
    def looks(self) -> tuple[int, ...]:
        """What is wanted now, as integers."""
        return self._looks

    @property
    def unasked(self) -> Mapping[int, bool]:
        """What people looked at without being asked: whether they knew more than the case."""
        return self.people.unasked

    @property
    def is_overruled(self) -> bool:
        """Whether people did something else than was advised, or before anything was."""
        return self.people.advised is not None

    @property
    def is_apart(self) -> bool:
        """Whether its reward is no fair sample: who overruled knew more than the case did."""
        return self.is_overruled and self.people.knew_more

    @property
    def acted_in(self) -> int:
        """The state in which the action was chosen; people may have looked further since."""
        state = self.people.overruled_in if self.is_overruled else self.people.advised_in
        return self.state_index if state < 0 else state

    @property
    def is_rewarded(self) -> bool:
        """Whether its reward has come."""
        return self.share is not None and not self.is_by_default

    @property
    def earned(self) -> float | None:
        """Its reward as it was told, once it has come."""
        return None if self.share is None else self._lattice.problem.as_money(self.share)

    # --- what happens to it ----------------------------------------------------------------------

    def observe(
        self,
        values: Mapping[str, Seen],
        *,
        paid: Mapping[str, float] | None = None,
        unasked: bool = False,
        knew_more: bool = True,
    ) -> None:
        """What was bought showed these values: all that was wanted, or a part of it.

        `paid` is what they cost, where that was not known before, without the fees of panels; the
        learner plans with the means. With `unasked` they may be what people looked at without being
        asked; `knew_more` says whether they knew more of the case than it did (`people.py`).
        """
        with self._owner.lock:
            if unasked is not False or knew_more is not True:
                check_flag(unasked, "unasked")
                check_flag(knew_more, "knew_more")
            seen = observed(self, values, unasked=unasked)
            if paid is not None:
                self._pay(values, paid)
            added = {i: knew_more for i, _ in seen if i not in self._looks}
            if added:
                self._owner.looked_unasked(self, list(added))
                self.people = self.people._replace(unasked=self.people.unasked | added)
                if self.action_index >= 0 and self.people.advised_in < 0:
                    self.people = self.people._replace(advised_in=self.state_index)
                    self.path = [*self.path]  # how likely its steps were is told by those before
            state, subset, steps = self.state_index, self.subset, self._lattice.steps
            for i, digit in seen:
                subset, _, stride, radix, start, above = steps[subset, i]
                place = state - start
                state = above + place + place // stride * stride * (radix - 1) + digit * stride
                self.path.append((i, state))
            self.state_index, self.subset = state, subset
            if self._policy is None:  # it has its action, and people looked further
                return
            policy = self._policy = self._policy.in_state(state)
            self._looks = looks = policy.looks_in_case(state, self.tag)
            self.wanted = self._lattice.names_of(looks)
            if not looks:
                self._act(policy)

    def act(self, action: str, *, knew_more: bool = True, propensity: float | None = None) -> None:
        """People did this, whatever was advised, or wanted still: say so before the reward.

        Its reward is counted apart, unless who decided knew no more of the case than it did:
        `knew_more=False` says so. `propensity` is how likely they were to stop and do just this, if
        that is known.
        """
        with self._owner.lock:
            check_awaits_reward(self)
            chosen, before = self._lattice.action(action), self.action_index
            check_allowed(self, chosen)
            check_flag(knew_more, "knew_more")
            told, people = check_propensity(propensity), self.people
            if chosen == before:
                return
            if before < 0:
                self._stop(is_fair=not knew_more)
                advised: int | None = -1
            else:
                advised = people.advised if self.is_overruled else before
            now = None if chosen == advised else chosen
            self._owner.overruled(self, before if self.is_overruled else None, now)
            self._propensities = (
                None if now is None else with_told(self._propensities, told, before)
            )
            self.people = people._replace(
                advised=None if now is None else advised,
                advised_in=self.state_index if people.advised_in < 0 else people.advised_in,
                overruled_in=self.state_index,
                knew_more=knew_more,
            )
            self.action_index = chosen

    def _pay(self, values: Mapping[str, Seen], paid: Mapping[str, float]) -> None:
        lattice, told = prices_told(self._lattice, values, paid)
        self._owner.paid(self, told)
        self._lattice = lattice

    def unavailable(self, name: str) -> None:
        """What was wanted could not be had: a look that failed, one more outcome of it."""
        self.observe({name: None})

    def reward(self, reward: float, *, replaces: bool = False) -> None:
        """How well it went: now or much later, in any order among cases.

        It is from 0 to 1, or what was earned in the currency if the problem has `rewards`.
        A reward that was put in by default gives way. Another one stays, unless this `replaces` it.
        """
        with self._owner.lock:
            self._check_acted()
            if self.is_rewarded and not replaces:
                raise CaseError(
                    f"case {self.id} has its reward already; reward(…, replaces=True) corrects it"
                )
            self._count_reward(self._lattice.problem.as_share(reward), by_default=False)

    def reward_by_default(self, reward: float) -> None:
        """No reward came in time: count this one until it does. It never replaces a real one."""
        with self._owner.lock:
            self._check_acted()
            share = self._lattice.problem.as_share(reward)
            if not self.is_rewarded:
                self._count_reward(share, by_default=True)

    def cancel(self) -> None:
        """It is abandoned: no action will be taken, or no reward will ever be known."""
        with self._owner.lock:
            check_awaits_reward(self)
            self._owner.cancelled(self)
            if self._policy is not None:
                self._propensities = self._propensities_so_far(self._policy)
            self.is_cancelled = True
            self.wanted = self._looks = ()
            self._policy = None

    # --- for the learner -------------------------------------------------------------------------

    @property
    def policy(self) -> Policy | None:
        """What it follows; None once it has acted and that was counted."""
        return self._policy

    def follows(self, policy: Policy) -> bool:
        """Whether it is this very policy that it follows."""
        return self._policy is policy

    def follow_exactly(self) -> None:
        """Follow a policy that is good in every state, since no other can be planned any more."""
        if self._policy is not None:
            self._policy = self._policy.exact()

    def follow(self, policy: Policy) -> None:
        """Follow an equal policy in other tables."""
        self._policy = policy

    def __repr__(self) -> str:
        doing = f"wants {wanted_names(self)}" if self.wanted else f"does {self.action!r}"
        if self.is_cancelled:
            doing = "is cancelled"
        return f"<Case {self.id}: knows {self.state}, {doing}>"

    def _count_reward(self, share: float, *, by_default: bool) -> None:
        before = self.share, self.is_by_default
        self.share, self.is_by_default = share, by_default
        try:
            self._owner.rewarded(self, share, before[0])
        except BaseException:
            self.share, self.is_by_default = before
            raise

    def _stop(self, *, is_fair: bool) -> None:
        """People act: nothing more is wanted."""
        policy = self._policy
        assert policy is not None
        self._owner.stopped(self, is_fair=is_fair)
        # of a set that was not bought as a whole it is not known
        is_path = policy.acquisition == "sequential"
        self._looks = self.wanted = ()
        self._propensities = self._propensities_so_far(policy) if is_path else None
        self._policy = None

    def _check_acted(self) -> None:
        if self.is_cancelled:
            raise CaseError(f"case {self.id} is cancelled")
        if self.action_index < 0:
            raise CaseError(
                f"case {self.id} has no action to reward yet, it wants: {wanted_names(self)}"
            )

    def _propensities_so_far(self, policy: Policy) -> Propensities | None:
        if self.people.unasked:
            return None
        return policy.propensities(self.start, self.path, self._looks, self.action_index)

    def _act(self, policy: Policy) -> None:
        """Nothing more is wanted."""
        self.action_index = policy.action_in_case(self.state_index, self.tag)
        self._propensities = self._propensities_so_far(policy)
        self._owner.acted(self)
        self._policy = None  # a case that only awaits its reward keeps no old tables alive
