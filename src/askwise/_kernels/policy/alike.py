"""This kernel finds the states in which two policies do the same."""

from askwise._kernels.jit import jit_no_arrays
from askwise._kernels.states.lattices import child
from askwise._support.typing import Choices, Flags
from askwise.states.layout import Layout


@jit_no_arrays
def alike_from(
    layout: Layout,
    look: Choices,
    action: Choices,
    other_look: Choices,
    other_action: Choices,
    out_alike: Flags,
) -> None:
    """Compute whether two policies do the same in a state and in all states that either reaches."""
    for subset in range(len(layout.sizes) - 1, -1, -1):
        for state in range(layout.offsets[subset], layout.offsets[subset + 1]):
            i = look[state]
            alike = i == other_look[state]
            if alike and i < 0:
                alike = action[state] == other_action[state]
            elif alike:
                _, first, stride, _ = child(layout, subset, state, i)
                for x in range(layout.radices[i]):
                    alike = alike and out_alike[first + x * stride]
            out_alike[state] = alike
