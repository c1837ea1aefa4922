"""p(φ) is estimated from partly observed states, by steps of expectation and maximisation.

The cells φ of a state are in `order[subset]`. The cells of one state are contiguous, and all states
of a subset have equally many cells.
"""

import numpy as np

from askwise._kernels.jit import jit
from askwise._support.typing import Floats, Integers


@jit
def marginals(order: Integers, offsets: Integers, p: Floats, out: Floats) -> None:
    """Compute p(ψ) = Σ_{φ ~ ψ} p(φ) of every state."""
    cells = len(p)
    for subset in range(len(offsets) - 1):
        width = cells // (offsets[subset + 1] - offsets[subset])
        place = 0
        for state in range(offsets[subset], offsets[subset + 1]):
            total = 0.0
            for _ in range(width):
                total += p[order[subset, place]]
                place += 1
            out[state] = total


@jit
def product_of_marginals(digits: Integers, radices: Integers, p: Floats, out: Floats) -> None:
    """Compute q(φ) = Π_i p(φ_i), which p would be if the observations were independent."""
    out[:] = 1.0
    for i in range(len(radices)):
        for x in range(radices[i]):
            total = 0.0
            for cell in range(len(p)):
                if digits[cell, i] == x:
                    total += p[cell]
            for cell in range(len(p)):
                if digits[cell, i] == x:
                    out[cell] *= total


@jit
def improve_population(
    order: Integers,
    offsets: Integers,
    digits: Integers,
    radices: Integers,
    seen: Integers,
    whole: Floats,
    mass: float,
    floor: float,
    p: Floats,
) -> None:
    """p(φ) ← (n(φ) + Σ_ψ n(ψ) p(φ | ψ) + mass · q(φ) + floor / F) / total, in place.

    `whole` is n(φ), the cases in which everything was observed. `seen` is n(ψ), all other cases.
    """
    cells = len(p)
    expected = np.empty(cells)
    product_of_marginals(digits, radices, p, expected)
    for cell in range(cells):
        expected[cell] = whole[cell] + mass * expected[cell] + floor / cells
    for subset in range(len(offsets) - 1):
        width = cells // (offsets[subset + 1] - offsets[subset])
        for state in range(offsets[subset], offsets[subset + 1]):
            if seen[state] > 0:
                first = (state - offsets[subset]) * width
                total = 0.0
                for place in range(first, first + width):
                    total += p[order[subset, place]]
                scale = seen[state] / total
                for place in range(first, first + width):
                    expected[order[subset, place]] += scale * p[order[subset, place]]
    total = 0.0
    for cell in range(cells):
        total += expected[cell]
    for cell in range(cells):
        p[cell] = expected[cell] / total
