"""What one finished case adds to the counters."""

import numpy as np

from askwise._kernels.jit import jit
from askwise._typing import Integers
from askwise.lattice import Layout


@jit
def count_set(
    layout: Layout,
    state: int,
    visits: Integers,
    subset_visits: Integers,
) -> None:
    """N(ψ') += 1 and N(dom ψ') += 1 for every substate ψ' of the state, itself included."""
    subset = np.searchsorted(layout.offsets, state, side="right") - 1
    size = layout.sizes[subset]
    last = len(layout.radices) - 1
    for chosen in range(1 << size):
        kept = 0
        for j in range(size):
            kept += chosen >> j & 1
        part = layout.levels[kept + 1] - 1
        behind = kept
        for j in range(size):
            if chosen >> j & 1:
                part -= layout.binomials[last - layout.members[subset, j], behind]
                behind -= 1
        substate = layout.offsets[part]
        rest = state - layout.offsets[subset]
        place = 0
        for j in range(size):
            digit = rest // layout.strides[subset, j]
            rest -= digit * layout.strides[subset, j]
            if chosen >> j & 1:
                substate += digit * layout.strides[part, place]
                place += 1
        visits[substate] += 1
        subset_visits[part] += 1
