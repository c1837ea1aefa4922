"""What one finished case adds to the counters."""

import numpy as np

from askwise._kernels.jit import jit
from askwise._typing import Integers


@jit
def count_set(
    members: Integers,
    sizes: Integers,
    strides: Integers,
    offsets: Integers,
    levels: Integers,
    binomials: Integers,
    state: int,
    visits: Integers,
    subset_visits: Integers,
) -> None:
    """N(ψ') += 1 and N(dom ψ') += 1 for every substate ψ' of the state, itself included."""
    subset = np.searchsorted(offsets, state, side="right") - 1
    size = sizes[subset]
    last = len(binomials) - 2  # D − 1
    for chosen in range(1 << size):
        kept = 0
        for j in range(size):
            kept += chosen >> j & 1
        part = levels[kept + 1] - 1
        behind = kept
        for j in range(size):
            if chosen >> j & 1:
                part -= binomials[last - members[subset, j], behind]
                behind -= 1
        substate = offsets[part]
        rest = state - offsets[subset]
        place = 0
        for j in range(size):
            digit = rest // strides[subset, j]
            rest -= digit * strides[subset, j]
            if chosen >> j & 1:
                substate += digit * strides[part, place]
                place += 1
        visits[substate] += 1
        subset_visits[part] += 1
