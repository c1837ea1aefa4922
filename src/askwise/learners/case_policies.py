"""Policies for cases with prices or a stake of their own, or with something on file.

Each is a plan in full, with tables as long as there are states. A round may meet as many starts as
there are states, and any number of stakes: so those kinds of cases that were asked for last are
kept, as many as fit into `MOST_BYTES`. One that was let go is planned again when a case needs it. A
case keeps its policy as long as it looks.

Of one kind of case there are plans for several stakes. A stake between two of them needs no plan of
its own as long as both do the same (`policy/alike.py`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator

import numpy as np

from askwise._support.typing import Flags
from askwise.policy import Policy
from askwise.policy.alike import PolicyBetween, alike_from

MOST_BYTES = 64 * 2**20
"""Of tables: the plans for some hundred starts of a problem with 50,000 states."""

OBJECT = 1024
"""What a policy takes beside its tables, roughly."""


class StakePolicies:
    """The policies for one kind of case, by stake."""

    def __init__(self) -> None:
        self._stakes: list[float] = []
        """In ascending order,"""
        self._policies: list[Policy] = []
        """and the policy that was planned for each."""
        self._alike: list[Flags | None] = []
        """Where each does the same as the next one; None if they were not compared yet."""
        self.bytes = 0

    def planned(self, stake: float) -> Policy | None:
        """The policy that was planned for this very stake."""
        place = bisect_left(self._stakes, stake)
        is_there = place < len(self._stakes) and self._stakes[place] == stake
        return self._policies[place] if is_there else None

    def between(self, stake: float, start: int, plan: Callable[[], Policy]) -> Policy | None:
        """What the policies for the next lower and higher stake do alike, if they do in `start`."""
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
        """This was planned for that stake."""
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
    """The policies of a round that were asked for last, by what they are for."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, StakePolicies] = {}
        """In the order in which they were asked for."""
        self.bytes = 0
        """Of all of them."""

    def between(
        self, key: Hashable, stake: float, start: int, plan: Callable[[], Policy]
    ) -> Policy | None:
        """The policy for a case of this kind without a plan of its own, if that is exact."""
        kind = self._kept.get(key)
        if kind is None:
            return None
        return kind.planned(stake) or kind.between(stake, start, plan)

    def get(
        self, key: Hashable, stake: float, policy: Policy, plan: Callable[[], Policy]
    ) -> Policy:
        """The policy for this, planned if it is not kept; that of the round is `policy`."""
        kind = self._kept.pop(key, None) or StakePolicies()
        found = kind.planned(stake)
        if found is None:
            found = plan()
            shared = {id(base) for base in _tables(policy)}
            size = OBJECT + sum(base.nbytes for base in _tables(found) if id(base) not in shared)
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
        """A new round begins: no plan of the last one is kept."""
        self._kept.clear()
        self.bytes = 0

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))


def _tables(policy: Policy) -> Iterator[np.ndarray]:
    """The arrays that a policy keeps alive: of a view, that which it is a view of."""
    exploration = () if policy.exploration is None else policy.exploration.arrays().values()
    for array in (*vars(policy.table).values(), policy.frequency, *exploration):
        if isinstance(array, np.ndarray):
            yield array if array.base is None else array.base
