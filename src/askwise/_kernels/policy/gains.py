"""These kernels compute the expected gain of cases under a policy, including exploration."""

from askwise._kernels.jit import jit_internal, jit_no_arrays
from askwise._kernels.states.lattices import child, is_open
from askwise._support.typing import Choices, Flags, Floats, Integers
from askwise.states.layout import Layout


@jit_internal
def gain_after_look(
    layout: Layout,
    p: Floats,
    spent: Floats,
    gains: Floats,
    subset: int,
    state: int,
    i: int,
) -> float:
    """Return Σ_x p(ψ' | ψ, i) (G(ψ') − c), where c is the cost of the observation if its value is
    x.
    """
    _, first, stride, _ = child(layout, subset, state, i)
    total = 0.0
    mass = 0.0
    for x in range(layout.radices[i]):
        reached = first + x * stride
        total += p[reached] * (gains[reached] - (spent[reached] - spent[state]))
        mass += p[reached]
    return total / mass if mass > 0.0 else gains[state]


@jit_no_arrays
def gains_by_paths(
    layout: Layout,
    look: Choices,
    other: Integers,
    probability: Floats,
    part: float,
    p: Floats,
    spent: Floats,
    gains: Floats,
) -> None:
    """Compute G(ψ), from the largest states down, in place of β r of acting there.

    With `part` of its probability a case buys another observation: half of the time the policy's
    other observation, if there is one, else any.
    """
    observations = len(layout.radices)
    for subset in range(len(layout.sizes) - 1, -1, -1):
        if layout.sizes[subset] == layout.members.shape[1]:
            continue
        for state in range(layout.offsets[subset], layout.offsets[subset + 1]):
            tried = part * probability[state]
            usual = gains[state]
            if look[state] >= 0:
                usual = gain_after_look(layout, p, spent, gains, subset, state, look[state])
            if tried > 0.0:
                anything = 0.0
                unknown = 0
                for i in range(observations):
                    is_known = False
                    for j in range(layout.sizes[subset]):
                        is_known |= layout.members[subset, j] == i
                    if not is_known and is_open(layout, subset, i):
                        anything += gain_after_look(layout, p, spent, gains, subset, state, i)
                        unknown += 1
                anything /= unknown
                if other[state] >= 0:
                    liked = gain_after_look(layout, p, spent, gains, subset, state, other[state])
                    anything = 0.5 * (liked + anything)
                usual += tried * (anything - usual)
            gains[state] = usual


@jit_no_arrays
def reach_by_paths(layout: Layout, look: Choices, out_reached: Flags) -> None:
    """Compute which states cases reach from their contexts if they follow the table."""
    for state in range(len(look)):
        out_reached[state] = state < layout.offsets[1]
    for subset in range(len(layout.sizes)):
        if layout.sizes[subset] == layout.members.shape[1]:
            continue
        for state in range(layout.offsets[subset], layout.offsets[subset + 1]):
            if out_reached[state] and look[state] >= 0:
                i = look[state]
                _, first, stride, _ = child(layout, subset, state, i)
                for x in range(layout.radices[i]):
                    out_reached[first + x * stride] = True
