"""The life of a case: open → observing → acted → rewarded."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Protocol

from askwise.errors import CaseError
from askwise.policy import START, Policy
from askwise.problem import Value
from askwise.statistics import check_reward


class Desk(Protocol):
    """Whoever opened the case and learns from it."""

    @property
    def lock(self) -> threading.RLock:
        """Held while a case changes."""

    def acted(self, case: Case) -> None:
        """All that was wanted is known, and the action is chosen."""

    def rewarded(self, case: Case, reward: float) -> None:
        """The reward has come."""


class Case:
    """One decision. It follows the policy it was opened under, whatever is learned meanwhile."""

    __slots__ = (
        "_desk",
        "_lattice",
        "_looks",
        "_policy",
        "action_index",
        "id",
        "path",
        "state_index",
        "subset",
        "tag",
        "wanted",
    )

    def __init__(self, id: int, policy: Policy, desk: Desk, tag: int = 0) -> None:
        self.id = id
        """Its number among the learner's cases; `learner.cases[id]` finds it again."""
        self.state_index = START
        """What is known, as an integer of the lattice."""
        self.subset = 0
        """The subset that this is a state of: what was bought."""
        self.path: list[tuple[int, int]] = []
        """What was bought, in order: (observation, the state it led to)."""
        self.action_index = -1
        self.tag = tag
        """What the learner wants to remember of the case until its reward comes."""
        self._desk: Desk | None = desk
        self._policy: Policy | None = policy
        self.wanted: tuple[str, ...] = ()
        """The names to buy now: a whole set, or one; none once the action is chosen."""
        self._looks: tuple[int, ...] = ()
        self._lattice = policy.lattice
        self._go_on()

    @property
    def action(self) -> str | None:
        """What to do; None while something is still wanted."""
        actions = self._lattice.problem.actions
        return None if self.action_index < 0 else actions[self.action_index]

    @property
    def state(self) -> dict[str, Value]:
        """What is known."""
        return self._lattice.state(self.state_index)

    @property
    def cost(self) -> float:
        """What was spent on observations so far."""
        return float(self._lattice.subset_costs[self.subset])

    @property
    def is_rewarded(self) -> bool:
        """Whether its reward has come."""
        return self._desk is None

    def observe(self, values: Mapping[str, Value]) -> None:
        """What was bought showed these values: all that was wanted, or a part of it."""
        desk = self._desk or self._open_desk()
        with desk.lock:
            lattice = self._lattice
            for i, digit in self._checked(values):
                step = lattice.step(self.subset, i)
                self.state_index = state = step.child(self.state_index, digit)
                self.subset = step[0]
                self.path.append((i, state))
            self._go_on()

    def reward(self, reward: float) -> None:
        """How well it went, from 0 to 1: now or much later, in any order among cases."""
        desk = self._desk or self._open_desk()
        with desk.lock:
            if self._desk is None:  # by another thread, while this one waited
                raise CaseError(f"case {self.id} has its reward already")
            if self.action_index < 0:
                raise CaseError(
                    f"case {self.id} has no action to reward yet, it wants: {self._wanted_names()}"
                )
            desk.rewarded(self, check_reward(reward))
            self._desk = None

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
        return f"<Case {self.id}: knows {self.state}, {doing}>"

    def _open_desk(self) -> Desk:
        if self._desk is None:
            raise CaseError(f"case {self.id} has its reward already")
        return self._desk

    def _checked(self, values: Mapping[str, Value]) -> list[tuple[int, int]]:
        """The values as integers, or an error before anything has changed."""
        if type(values) is not dict and not isinstance(values, Mapping):
            kind = type(values).__name__
            raise CaseError(f"observe takes {{name: value}}, a mapping, got a {kind}")
        if not values:
            raise CaseError(f"nothing was observed, case {self.id} wants: {self._wanted_names()}")
        seen, lattice = [], self._lattice
        for name, value in values.items():
            i = lattice.position(name)
            if i not in self._looks:
                known = self._lattice.members(self.subset)
                why = "is known already" if i in known else "is not wanted"
                raise CaseError(
                    f"observation {name!r} {why} in case {self.id}, it wants: "
                    f"{self._wanted_names()}"
                )
            seen.append((i, lattice.digit(i, value)))
        return seen

    def _wanted_names(self) -> str:
        return ", ".join(self.wanted) or "nothing"

    def _go_on(self) -> None:
        """See what is wanted now; act if nothing is."""
        assert self._policy is not None
        assert self._desk is not None
        self._looks = self._policy.looks_in_case(self.state_index, self.tag)
        self.wanted = self._lattice.names_of(self._looks)
        if not self._looks:
            self.action_index = self._policy.action_in_case(self.state_index, self.tag)
            self._desk.acted(self)
            self._policy = None  # a case that only awaits its reward keeps no old tables alive
