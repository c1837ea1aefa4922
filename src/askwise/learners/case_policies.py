"""Policies for cases with prices of their own, or with something on file, kept for a round.

Each is a plan in full, with tables as long as there are states, and a round may meet as many starts
as there are states: so those asked for last are kept, as many as fit into `MOST_BYTES`. One that
was let go is planned again when a case needs it. A case keeps its policy as long as it looks.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

import numpy as np

from askwise.policy import Policy

MOST_BYTES = 64 * 2**20
"""Of tables: the plans for some hundred starts of a problem with 50,000 states."""

OBJECT = 1024
"""What a policy takes beside its tables, roughly."""


class CasePolicies:
    """The policies of a round that were asked for last, by what they are for."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[Policy, int]] = {}
        """In the order in which they were asked for, with the bytes of their tables."""
        self.bytes = 0
        """Of all of them."""

    def get(self, key: Hashable, policy: Policy, plan: Callable[[], Policy]) -> Policy:
        """The policy for this, planned if it is not kept; that of the round is `policy`."""
        found = self._kept.pop(key, None)
        if found is None:
            made = plan()
            shared = {id(base) for base in _tables(policy)}
            tables = (base.nbytes for base in _tables(made) if id(base) not in shared)
            size = OBJECT + sum(tables)
            found = made, size
            self.bytes += size
        self._kept[key] = found
        while self.bytes > MOST_BYTES and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            self.bytes -= self._kept.pop(oldest)[1]
        return found[0]

    def clear(self) -> None:
        """A new round begins: no plan of the last one is kept."""
        self._kept.clear()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._kept)


def _tables(policy: Policy) -> Iterator[np.ndarray]:
    """The arrays that a policy keeps alive: of a view, that which it is a view of."""
    exploration = () if policy.exploration is None else policy.exploration.arrays().values()
    for array in (*vars(policy.table).values(), policy.frequency, *exploration):
        if isinstance(array, np.ndarray):
            yield array if array.base is None else array.base
