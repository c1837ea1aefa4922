"""Walking the lattice by arithmetic."""

from askwise._kernels.jit import jit
from askwise._typing import Integers


@jit
def union_of(
    members: Integers,
    sizes: Integers,
    levels: Integers,
    binomials: Integers,
    subset: int,
    i: int,
) -> tuple[int, int]:
    """The subset with i added, and the slot of i there; the slot is −1 if i is a member already."""
    size = sizes[subset]
    last = len(binomials) - 2  # D − 1
    union = levels[size + 2] - 1
    slot = 0
    for j in range(size):
        member = members[subset, j]
        if member == i:
            return subset, -1
        if member < i:
            union -= binomials[last - member, size + 1 - j]
            slot = j + 1
        else:
            union -= binomials[last - member, size - j]
    return union - binomials[last - i, size + 1 - slot], slot


@jit
def child(
    radices: Integers,
    members: Integers,
    sizes: Integers,
    strides: Integers,
    offsets: Integers,
    levels: Integers,
    binomials: Integers,
    subset: int,
    state: int,
    i: int,
) -> tuple[int, int, int, int]:
    """Where looking at i leads: the subset, the state for its first value, the stride to the next,
    and the slot of i there."""
    union, slot = union_of(members, sizes, levels, binomials, subset, i)
    stride = strides[union, slot]
    place = state - offsets[subset]
    first = offsets[union] + place + (place // stride) * stride * (radices[i] - 1)
    return union, first, stride, slot


@jit
def parent(
    radices: Integers,
    members: Integers,
    sizes: Integers,
    strides: Integers,
    offsets: Integers,
    levels: Integers,
    binomials: Integers,
    subset: int,
    state: int,
    slot: int,
) -> tuple[int, int]:
    """The subset and the state before the member in that slot was looked at."""
    size = sizes[subset]
    last = len(radices) - 1
    smaller = levels[size] - 1
    for j in range(size):
        if j < slot:
            smaller -= binomials[last - members[subset, j], size - 1 - j]
        elif j > slot:
            smaller -= binomials[last - members[subset, j], size - j]
    stride = strides[subset, slot]
    place = state - offsets[subset]
    high = place // (stride * radices[members[subset, slot]])
    return smaller, offsets[smaller] + high * stride + place % stride
