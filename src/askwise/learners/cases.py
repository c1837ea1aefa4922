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
    share_of_reward,
    wanted_names,
)
from askwise.learners.people import (
    NOTHING,
    check_flag,
    check_propensity,
    check_same_report,
    with_told,
)
from askwise.policy import Policy
from askwise.policy.tables import Propensities
from askwise.problem import Seen, Value
from askwise.states import Lattice


class Case:
    """One decision. It follows the policy that it was opened under, although learning goes on."""

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
        """The number of the case; `learner.cases[id]` finds it again."""
        self.stake = stake
        """How many times the reward counts."""
        self.start = start
        """The state when the case was opened, as an integer of the lattice."""
        self.state_index = start
        """The current state, as an integer of the lattice."""
        self.subset = subset
        """The subset of this state: what was bought, or on file."""
        self.path: list[tuple[int, int]] = []
        """The purchases in order: (observation, the state it led to)."""
        self.action_index = -1
        self.tag = tag
        """A number that the learner keeps with the case until its reward comes."""
        self.share: float | None = None
        """Its reward from 0 to 1, once it has come."""
        self.is_by_default = False
        """Whether the reward is a default."""
        self.is_cancelled = False
        self.people = NOTHING
        """What people did in the case besides the advice."""
        self.block = 0
        """The block of the learner's memory in which the reward was counted."""
        self._propensities: Propensities | None = None
        self._owner = owner
        self._policy: Policy | None = policy
        self._lattice = policy.lattice.per_unit
        self._looks: tuple[int, ...] = policy.looks_in_case(start, tag)
        self.wanted: tuple[str, ...] = self._lattice.names_of(self._looks)
        """The names to buy now: a whole set or one name; empty once the action is chosen."""
        if not self._looks:
            self._act(policy)

    @classmethod
    def resumed(
        cls, snapshot: CaseSnapshot, owner: CaseOwner, lattice: Lattice, policy: Policy | None
    ) -> Case:
        """Returns a case that continues from a snapshot. Nothing is counted.

        It follows the policy, which is None if it has acted. `lattice` has the prices of this case.
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
        """The lattice of its states."""
        return self._lattice

    @property
    def action(self) -> str | None:
        """The action to take, or the one that people took; None while observations are wanted."""
        actions = self._lattice.problem.action_names
        return None if self.action_index < 0 else actions[self.action_index]

    @property
    def state(self) -> dict[str, Value | None]:
        """The known values: given, on file and bought. None is an observation that failed."""
        return self._lattice.state(self.state_index)

    @property
    def cost(self) -> float:
        """The amount spent so far, on observations and on the action. Values on file are free."""
        lattice, action = self._lattice, self.action_index
        acting = 0.0 if action < 0 else lattice.problem.actions[action].cost
        if self.start < lattice.contexts:
            return acting + lattice.spent(self.state_index, self.subset)
        bought = {i for i, _ in self.path}
        charged = [i for i in lattice.charged(self.state_index) if i in bought]
        return acting + lattice.tariff.cost_of(charged)

    @property
    def propensity(self) -> tuple[float, ...] | None:
        """The probability of each step, given what was known: first the observations, then the
        action.

        A step is a decision. With sequential acquisition each observation is a step, including the
        one that is wanted now. With simultaneous acquisition the set is one step. The last step is
        stopping with this action. The product is the probability of the whole case, and these
        products sum to 1 over all possible cases. A learner that does not randomise has 1.0
        everywhere. A learner that draws a policy for each round has the probabilities under that
        policy. The value is None if the probabilities are unknown, as for human actions without a
        reported propensity.
        """
        with self._owner.lock:
            policy = self._policy
            chances = self._propensities if policy is None else self._propensities_so_far(policy)
            return chances() if callable(chances) else chances

    @property
    def looks(self) -> tuple[int, ...]:
        """The wanted observations, as integers."""
        return self._looks

    @property
    def unasked(self) -> Mapping[int, bool]:
        """The observations that people made without being asked, and whether people knew more than
        the case.
        """
        return self.people.unasked

    @property
    def is_overruled(self) -> bool:
        """Whether people took another action than advised, or acted before there was advice."""
        return self.people.advised is not None

    @property
    def is_apart(self) -> bool:
        """Whether the reward is no fair sample, because people overruled and knew more than the
        case.
        """
        return self.is_overruled and self.people.knew_more

    @property
    def acted_in(self) -> int:
        """The state in which the action was chosen. People may have observed more since."""
        state = self.people.overruled_in if self.is_overruled else self.people.advised_in
        return self.state_index if state < 0 else state

    @property
    def is_rewarded(self) -> bool:
        """Whether the real reward has come."""
        return self.share is not None and not self.is_by_default

    @property
    def earned(self) -> float | None:
        """The reward as it was reported; None before it comes."""
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
        """Reports the values of wanted observations, all of them or a part.

        `paid`, {name: amount}, is what they cost if the price was not known before, without panel
        fees. The learner plans with the means. With `unasked=True` you may report observations that
        people made without being asked; `knew_more` says whether people knew more about the case
        than it did (`people.py`).
        """
        with self._owner.lock:
            if unasked is not False or knew_more is not True:
                check_flag(unasked, "unasked")
                check_flag(knew_more, "knew_more")
            seen = observed(self, values, unasked=unasked)
            before = self.cost if unasked else 0.0
            if paid is not None:
                lattice, told = prices_told(self._lattice, values, paid)
                self._owner.paid(self, told)
                self._lattice = lattice
            if unasked and (added := [i for i, _ in seen if i not in self._looks]):
                self._count_unasked(added, knew_more)
            state, subset, steps = self.state_index, self.subset, self._lattice.steps
            for i, digit in seen:
                subset, _, stride, radix, start, above = steps[subset, i]
                place = state - start
                state = above + place + place // stride * stride * (radix - 1) + digit * stride
                self.path.append((i, state))
            self.state_index, self.subset = state, subset
            policy = self._policy
            if policy is None:  # it has its action, and people observed more
                self._owner.spent_later(self, self.cost - before)
                return
            if self.stake != 1.0:
                policy = self._policy = policy.in_state(state)
            self._looks = looks = policy.looks_in_case(state, self.tag)
            self.wanted = self._lattice.names_of(looks)
            if not looks:
                self._act(policy)

    def act(self, action: str, *, knew_more: bool = True, propensity: float | None = None) -> None:
        """Reports the action that people took, before the reward is known.

        The reward is counted separately, unless `knew_more=False` says that the decision used
        nothing but what the case knew. `propensity` is the probability of stopping with this
        action, if it is known.
        """
        with self._owner.lock:
            check_awaits_reward(self)
            chosen, before = self._lattice.action(action), self.action_index
            check_allowed(self, chosen)
            check_flag(knew_more, "knew_more")
            told, people = check_propensity(propensity), self.people
            if chosen == before:
                check_same_report(self, knew_more, told)
                return
            if before < 0:
                self._stop(is_fair=not knew_more)
                advised: int | None = -1
            else:
                advised = people.advised if self.is_overruled else before
            now = None if chosen == advised else chosen
            self._owner.overruled(self, before if self.is_overruled else None, now)
            steps = None if now is None else with_told(self._propensities, told, before)
            self._propensities = steps
            self.people = people._replace(
                advised=None if now is None else advised,
                advised_in=self.state_index if people.advised_in < 0 else people.advised_in,
                overruled_in=self.state_index,
                knew_more=knew_more,
            )
            self.action_index = chosen

    def _count_unasked(self, added: list[int], knew_more: bool) -> None:
        """Counts observations that people made without being asked."""
        self._owner.looked_unasked(self, added)
        told = self.people.unasked | dict.fromkeys(added, knew_more)
        self.people = self.people._replace(unasked=told)
        if self.action_index >= 0 and self.people.advised_in < 0:
            self.people = self.people._replace(advised_in=self.state_index)
            self.path = [*self.path]  # the earlier steps determine the propensities

    def unavailable(self, name: str) -> None:
        """Reports that a wanted observation failed."""
        self.observe({name: None})

    def reward(self, reward: float, *, replaces: bool = False) -> None:
        """Reports the reward, now or much later, in any order among cases.

        It is a number from 0 to 1, or an amount of money if the problem has `rewards`. It replaces
        a default reward. It replaces a real reward only with `replaces=True`.
        """
        with self._owner.lock:
            self._check_acted()
            if self.is_rewarded and not replaces:
                raise CaseError(
                    f"case {self.id} has its reward already; reward(…, replaces=True) corrects it"
                )
            self._count_reward(share_of_reward(self, reward), by_default=False)

    def reward_by_default(self, reward: float) -> None:
        """Sets a provisional reward until the real one comes. It never replaces a real reward."""
        with self._owner.lock:
            self._check_acted()
            share = share_of_reward(self, reward)
            if not self.is_rewarded:
                self._count_reward(share, by_default=True)

    def cancel(self) -> None:
        """Abandons the case: no action will be taken, or its reward will never be known."""
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
        """The policy that it follows; None once it has acted and was counted."""
        return self._policy

    def follow_exactly(self) -> None:
        """Follows a policy that covers every state, because no other can be planned any more."""
        if self._policy is not None:
            self._policy = self._policy.exact()

    def follow(self, policy: Policy) -> None:
        """Follows an equal policy in other tables."""
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
        """Ends the case's wishes, because people act."""
        policy = self._policy
        assert policy is not None
        self._owner.stopped(self, is_fair=is_fair)
        is_path = policy.acquisition == "sequential"  # a part of a set has no known probability
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
        self._policy = None  # a case that waits for its reward keeps no old tables in memory
