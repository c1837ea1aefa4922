"""Policies for cases with their own prices or stake, or with values on file.

Each is a full plan, with an entry for every state. A round may have as many start states as there
are states, and any number of stakes. So the plans that were used last are kept, as many as fit into
`MOST_BYTES`. A dropped plan is computed again when a case needs it. A case keeps its policy until
it has acted.

One kind of case has plans for several stakes. A stake between two of them needs no separate plan as
long as both do the same (`policy/alike.py`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator

import numpy as np

from askwise._support.typing import Flags
from askwise.policy import Policy
from askwise.policy.alike import PolicyBetween, alike_from

MOST_BYTES = 64 * 2**20
"""The most bytes of tables: the plans for some hundred start states with 50,000 states."""

OBJECT = 4096
"""The approximate memory of a policy beside its tables: its objects, its key, its lattice."""


class StakePolicies:
    """The policies for one kind of case, by stake."""

    def __init__(self) -> None:
        self._stakes: list[float] = []
        """The stakes in ascending order."""
        self._policies: list[Policy] = []
        """The policy that was planned for each stake."""
        self._alike: list[Flags | None] = []
        """The states in which each does the same as the next; None if they were not compared yet.
        """
        self.bytes = 0

    def planned(self, stake: float) -> Policy | None:
        """Returns the policy that was planned for exactly this stake."""
        place = bisect_left(self._stakes, stake)
        is_there = place < len(self._stakes) and self._stakes[place] == stake
        return self._policies[place] if is_there else None

    def between(self, stake: float, start: int, plan: Callable[[], Policy]) -> Policy | None:
        """Returns the common part of the policies for the neighbouring stakes, if it covers
        `start`.
        """
        place = bisect_left(self._stakes, stake) - 1
        if not 0 <= place < len(self._stakes) - 1:
            return None
        below, alike = self._policies[place], self._alike[place]
        if alike is None:
            alike = self._alike[place] = alike_from(below, self._policies[place + 1])
        if len(alike) == 1:  # of the whole
            return PolicyBetween(below, None, plan) if alike[0] else None
        return PolicyBetween(below, alike, plan) if alike[start] else None

    def add(self, stake: float, policy: Policy, size: int) -> None:
        """Adds a policy that was planned for that stake."""
        place = bisect_left(self._stakes, stake)
        self._stakes.insert(place, stake)
        self._policies.insert(place, policy)
        self._alike.insert(place, None)
        if place:
            self._alike[place - 1] = None
        self.bytes += size

    def __len__(self) -> int:
        return len(self._stakes)


class CasePolicies:
    """The policies of a round that were used last, by kind of case."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, StakePolicies] = {}
        """The policies in the order of their last use."""
        self.bytes = 0
        """The memory of all of them."""

    def between(
        self, key: Hashable, stake: float, start: int, plan: Callable[[], Policy]
    ) -> Policy | None:
        """Returns an exact policy for a case of this kind without a new plan, if there is one."""
        kind = self._kept.get(key)
        if kind is None:
            return None
        return kind.planned(stake) or kind.between(stake, start, plan)

    def get(
        self, key: Hashable, stake: float, policy: Policy, plan: Callable[[], Policy]
    ) -> Policy:
        """Returns the policy for this kind, planned if it is not kept. `policy` is that of the
        round.
        """
        kind = self._kept.pop(key, None) or StakePolicies()
        found = kind.planned(stake)
        if found is None:
            found = plan()
            size = own_bytes(found, policy)
            if kind.bytes + size > MOST_BYTES:
                self.bytes -= kind.bytes
                kind = StakePolicies()
            kind.add(stake, found, size)
            self.bytes += size
        self._kept[key] = kind
        while self.bytes > MOST_BYTES and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            self.bytes -= self._kept.pop(oldest).bytes
        return found

    def clear(self) -> None:
        """Drops all plans, because a new round begins."""
        self._kept.clear()
        self.bytes = 0

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))


def own_bytes(policy: Policy, beside: Policy | None = None) -> int:
    """Returns the memory of a policy, without what it shares with the other one."""
    shared = set() if beside is None else {id(base) for base in _tables(beside)}
    own = {id(base): base.nbytes for base in _tables(policy) if id(base) not in shared}
    return OBJECT + sum(own.values())


def _tables(policy: Policy) -> Iterator[np.ndarray]:
    """The arrays that a policy keeps alive: of a view, that which it is a view of.

    A lattice with its own prices has arrays of them.
    """
    for _, part in policy.parts:
        exploration = () if part.exploration is None else part.exploration.arrays().values()
        prices = vars(part.lattice).values()
        for array in (*vars(part.table).values(), part.frequency, *exploration, *prices):
            if isinstance(array, np.ndarray):
                yield array if array.base is None else array.base
