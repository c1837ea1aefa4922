"""The life of a case: open → observing → acted → rewarded; or cancelled before that."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from askwise.counting import check_reward
from askwise.errors import CaseError, ProblemError
from askwise.policy import Policy
from askwise.policy.tables import Propensities
from askwise.problem import Seen, Value
from askwise.states import Lattice


class CaseOwner(Protocol):
    """What opened a case and counts what happens in it."""

    @property
    def lock(self) -> threading.RLock:
        """Held while a case changes."""

    def acted(self, case: Case) -> None:
        """All that was wanted is known, and the action is chosen."""

    def rewarded(self, case: Case, reward: float, before: float | None) -> None:
        """The reward has come; it replaces the one before, if there was one."""

    def paid(self, case: Case, amounts: Mapping[str, float]) -> None:
        """Observations cost so much: {name: amount}."""

    def cancelled(self, case: Case) -> None:
        """There will be no action, or no reward."""


class CaseSnapshot(NamedTuple):
    """All that a case is, beside its policy and its prices."""

    id: int
    start: int
    """What was known when it was opened, as an integer of the lattice."""
    path: list[tuple[int, int]]
    """What was bought, in order: (observation, the state it led to)."""
    tag: int = 0
    looks: tuple[int, ...] | None = None
    """What it wants now; None: whatever its policy says."""
    action: int = -1
    """What was done; −1: nothing yet."""
    earned: float | None = None
    is_by_default: bool = False
    is_cancelled: bool = False
    block: int = 0
    propensities: Propensities | None = None


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
        "earned",
        "id",
        "is_by_default",
        "is_cancelled",
        "path",
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
    ) -> None:
        self.id = id
        """Its number among the learner's cases; `learner.cases[id]` finds it again."""
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
        self.earned: float | None = None
        """Its reward, once it has come."""
        self.is_by_default = False
        """Whether that was put in its place because none came."""
        self.is_cancelled = False
        self.block = 0
        """In which block of its learner's memory the reward was counted."""
        self._propensities: Propensities | None = None
        self._owner = owner
        self._policy: Policy | None = policy
        self._lattice = policy.lattice
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
        case.action_index, case.earned, case.block = (
            snapshot.action,
            snapshot.earned,
            snapshot.block,
        )
        case.is_by_default, case.is_cancelled = snapshot.is_by_default, snapshot.is_cancelled
        case._owner, case._lattice, case._policy = owner, lattice, policy
        case._propensities = snapshot.propensities
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
        """What to do; None while something is still wanted."""
        actions = self._lattice.problem.action_names
        return None if self.action_index < 0 else actions[self.action_index]

    @property
    def state(self) -> dict[str, Value | None]:
        """What is known: what was given or on file, and what was bought; None is a failure."""
        return self._lattice.state(self.state_index)

    @property
    def cost(self) -> float:
        """What was spent on observations so far; what was on file is free."""
        lattice = self._lattice
        if self.start < lattice.contexts:
            return lattice.spent(self.state_index, self.subset)
        bought = {i for i, _ in self.path}
        return lattice.tariff.cost_of([i for i in lattice.charged(self.state_index) if i in bought])

    @property
    def propensity(self) -> tuple[float, ...] | None:
        """How likely each step was, given what was seen: the looks, then the action.

        A step is a decision. Buying one after the other, every look is one, that which is wanted
        now included; buying at once, the set is one. The last is the action together with stopping:
        the product is the probability of all that was done, and over all that could have been done
        the products sum to 1. A learner that does not randomise has 1.0 everywhere. One that draws
        a policy for a round has the probabilities under that policy. None if they are not known.
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
    def is_rewarded(self) -> bool:
        """Whether its reward has come."""
        return self.earned is not None and not self.is_by_default

    # --- what happens to it ----------------------------------------------------------------------

    def observe(
        self,
        values: Mapping[str, Seen],
        *,
        paid: Mapping[str, float] | None = None,
    ) -> None:
        """What was bought showed these values: all that was wanted, or a part of it.

        `paid` is what they cost, where that was not known before, without the fees of panels; the
        learner plans with the means.
        """
        with self._owner.lock:
            if paid is not None:
                self._checked(values)
                self._pay(values, paid)
            state, subset, steps = self.state_index, self.subset, self._lattice.steps
            for i, digit in self._checked(values):
                subset, _, stride, radix, start, above = steps[subset, i]
                place = state - start
                state = above + place + place // stride * stride * (radix - 1) + digit * stride
                self.path.append((i, state))
            self.state_index, self.subset = state, subset
            policy = self._policy
            assert policy is not None
            self._looks = looks = policy.looks_in_case(state, self.tag)
            self.wanted = self._lattice.names_of(looks)
            if not looks:
                self._act(policy)

    def _pay(self, values: Mapping[str, Seen], paid: Mapping[str, float]) -> None:
        try:
            lattice = self._lattice.priced(paid)
        except ProblemError as error:
            raise CaseError(f"paid: {error}") from None
        for name in paid:
            if name not in values:
                raise CaseError(f"paid: observation {name!r} is not among what was observed")
            if any(p.prices and name in p.prices for p in lattice.problem.panels):
                raise CaseError(
                    f"paid: what {name!r} costs depends on its panel, so that it is not told"
                )
        # a failure that is refunded says nothing of the price
        told = {
            name: amount
            for name, amount in paid.items()
            if values[name] is not None or lattice.fails(name) != "refunded"
        }
        self._owner.paid(self, told)
        self._lattice = lattice

    def unavailable(self, name: str) -> None:
        """What was wanted could not be had: a look that failed, one more outcome of it."""
        self.observe({name: None})

    def reward(self, reward: float, *, replaces: bool = False) -> None:
        """How well it went, from 0 to 1: now or much later, in any order among cases.

        A reward that was put in by default gives way. Another one stays, unless this `replaces` it.
        """
        with self._owner.lock:
            self._check_acted()
            if self.earned is not None and not self.is_by_default and not replaces:
                raise CaseError(
                    f"case {self.id} has its reward already; reward(…, replaces=True) corrects it"
                )
            self._count_reward(check_reward(reward), by_default=False)

    def reward_by_default(self, reward: float) -> None:
        """No reward came in time: count this one until it does. It never replaces a real one."""
        with self._owner.lock:
            self._check_acted()
            reward = check_reward(reward)
            if not self.is_rewarded:
                self._count_reward(reward, by_default=True)

    def cancel(self) -> None:
        """It is abandoned: no action will be taken, or no reward will ever be known."""
        with self._owner.lock:
            if self.is_cancelled or self.earned is not None:
                what = "is cancelled" if self.is_cancelled else "has its reward"
                raise CaseError(f"case {self.id} {what} already")
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

    def follow(self, policy: Policy) -> None:
        """Follow an equal policy in other tables."""
        self._policy = policy

    def __repr__(self) -> str:
        doing = f"wants {self._wanted_names()}" if self.wanted else f"does {self.action!r}"
        if self.is_cancelled:
            doing = "is cancelled"
        return f"<Case {self.id}: knows {self.state}, {doing}>"

    def _count_reward(self, reward: float, *, by_default: bool) -> None:
        before = self.earned, self.is_by_default
        self.earned, self.is_by_default = reward, by_default
        try:
            self._owner.rewarded(self, reward, before[0])
        except BaseException:
            self.earned, self.is_by_default = before
            raise

    def _check_acted(self) -> None:
        if self.is_cancelled:
            raise CaseError(f"case {self.id} is cancelled")
        if self.action_index < 0:
            raise CaseError(
                f"case {self.id} has no action to reward yet, it wants: {self._wanted_names()}"
            )

    def _checked(self, values: Mapping[str, Seen]) -> list[tuple[int, int]]:
        """The values as integers, or an error before anything has changed."""
        lattice, looks = self._lattice, self._looks
        positions, digits = lattice.positions, lattice.digits_of
        if type(values) is not dict and not isinstance(values, Mapping):
            kind = type(values).__name__
            raise CaseError(f"observe takes {{name: value}}, a mapping, got a {kind}")
        if not values:
            raise CaseError(f"nothing was observed, case {self.id} wants: {self._wanted_names()}")
        seen = []
        for name, value in values.items():
            i = positions.get(name, -1)
            digit = digits[i].get(value) if type(value) is str and i in looks else None
            if digit is not None:  # the usual case, fast
                seen.append((i, digit))
                continue
            i = lattice.position(name)
            if i not in looks:
                raise CaseError(
                    f"observation {name!r} {self._why_not(i)} in case {self.id}, it wants: "
                    f"{self._wanted_names()}"
                )
            seen.append((i, lattice.digit(i, value)))
        return seen

    def _why_not(self, i: int) -> str:
        if i >= self._lattice.buyable:
            return "is given"
        known = self._lattice.members(self.subset)
        return "is known already" if i in known else "is not wanted"

    def _wanted_names(self) -> str:
        return ", ".join(self.wanted) or "nothing"

    def _propensities_so_far(self, policy: Policy) -> Propensities | None:
        return policy.propensities(self.start, self.path, self._looks, self.action_index)

    def _act(self, policy: Policy) -> None:
        """Nothing more is wanted."""
        self.action_index = action = policy.action_in_case(self.state_index, self.tag)
        self._propensities = policy.propensities(self.start, self.path, (), action)
        self._owner.acted(self)
        self._policy = None  # a case that only awaits its reward keeps no old tables alive
