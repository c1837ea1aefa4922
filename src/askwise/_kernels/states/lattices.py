"""States of the lattice are found by arithmetic."""

from askwise._kernels.jit import jit_internal, jit_no_arrays
from askwise._support.typing import Choices, Integers
from askwise.states.layout import Layout


@jit_internal
def subset_at(layout: Layout, state: int) -> int:
    """Return the subset whose states contain this one."""
    low = 0
    high = len(layout.sizes)
    while high - low > 1:
        middle = (low + high) // 2
        if layout.offsets[middle] <= state:
            low = middle
        else:
            high = middle
    return low


@jit_internal
def contexts_of(layout: Layout) -> int:
    """Return the number of states in which a case can begin."""
    return (len(layout.context_offsets) - 1) // len(layout.sizes)


@jit_internal
def start_of(layout: Layout, values: Choices, t: int) -> int:
    """Return the start state of case t, with its given values. Given values are the last
    columns.
    """
    state = 0
    first = len(layout.radices)
    for j in range(len(layout.given)):
        state += values[t, first + j] * layout.given[j]
    return state


@jit_internal
def state_of_set(layout: Layout, values: Choices, t: int, subset: int, context: int) -> int:
    """Return the state of case t after buying a whole subset at once."""
    state = layout.context_offsets[subset * contexts_of(layout) + context]
    for j in range(layout.sizes[subset]):
        state += values[t, layout.members[subset, j]] * layout.strides[subset, j]
    return state


@jit_internal
def context_of(layout: Layout, subset: int, state: int) -> int:
    """Return the context of a state of that subset."""
    contexts = contexts_of(layout)
    if contexts == 1:
        return 0
    context_subset = subset * contexts
    states = layout.context_offsets[context_subset + 1] - layout.context_offsets[context_subset]
    return (state - layout.offsets[subset]) // states


@jit_internal
def is_open(layout: Layout, subset: int, i: int) -> bool:
    """Return whether the states of the subset have all that the observation requires."""
    for k in range(layout.first_required[i], layout.first_required[i + 1]):
        is_known = False
        for j in range(layout.sizes[subset]):
            is_known |= layout.members[subset, j] == layout.required[k]
        if not is_known:
            return False
    return True


@jit_internal
def union_of(
    layout: Layout,
    subset: int,
    i: int,
) -> tuple[int, int]:
    """Return the subset with i added, and the slot of i there, or −1 if i is a member already."""
    size = layout.sizes[subset]
    last = len(layout.radices) - 1
    union = layout.levels[size + 2] - 1
    slot = 0
    for j in range(size):
        member = layout.members[subset, j]
        if member == i:
            return subset, -1
        if member < i:
            union -= layout.binomials[last - member, size + 1 - j]
            slot = j + 1
        else:
            union -= layout.binomials[last - member, size - j]
    return union - layout.binomials[last - i, size + 1 - slot], slot


@jit_internal
def child(
    layout: Layout,
    subset: int,
    state: int,
    i: int,
) -> tuple[int, int, int, int]:
    """Return the child by i: the subset, the state for its first value, the stride to the next, and
    the slot of i there.
    """
    union, slot = union_of(layout, subset, i)
    stride = layout.strides[union, slot]
    place = state - layout.offsets[subset]
    first = layout.offsets[union] + place + (place // stride) * stride * (layout.radices[i] - 1)
    return union, first, stride, slot


@jit_internal
def parent(
    layout: Layout,
    subset: int,
    state: int,
    slot: int,
) -> tuple[int, int]:
    """Return the subset and the state before the member in that slot was bought."""
    size = layout.sizes[subset]
    last = len(layout.radices) - 1
    smaller = layout.levels[size] - 1
    for j in range(size):
        if j < slot:
            smaller -= layout.binomials[last - layout.members[subset, j], size - 1 - j]
        elif j > slot:
            smaller -= layout.binomials[last - layout.members[subset, j], size - j]
    stride = layout.strides[subset, slot]
    place = state - layout.offsets[subset]
    high = place // (stride * layout.radices[layout.members[subset, slot]])
    return smaller, layout.offsets[smaller] + high * stride + place % stride


@jit_no_arrays
def decode(layout: Layout, states: Integers, out_seen: Integers, out_value: Integers) -> None:
    """Fill the known observations of each state, (states, m + given) in order and padded with −1,
    and their values.
    """
    contexts = contexts_of(layout)
    for row in range(len(states)):
        subset = subset_at(layout, states[row])
        context = context_of(layout, subset, states[row])
        rest = states[row] - layout.context_offsets[subset * contexts + context]
        size = layout.sizes[subset]
        for j in range(size):
            out_seen[row, j] = layout.members[subset, j]
            out_value[row, j] = rest // layout.strides[subset, j]
            rest %= layout.strides[subset, j]
        for j in range(len(layout.given)):
            out_seen[row, size + j] = len(layout.radices) + j
            out_value[row, size + j] = context // layout.given[j]
            context %= layout.given[j]
        for j in range(size + len(layout.given), out_seen.shape[1]):
            out_seen[row, j] = -1
            out_value[row, j] = 0
