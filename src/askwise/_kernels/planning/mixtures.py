"""These kernels compute the hidden classes of rows by a mixture model, and choose looks by them.

`cells[i, b, k]` is P(outcome b of column i | hidden class k). A negative digit is a cell that tells
nothing. Each hidden class has a label.
"""

import math

import numpy as np

from askwise._kernels.jit import jit, jit_internal, jit_no_arrays
from askwise._support.typing import Flags, Floats, Integers

_LEAST = 1e-12
"""The least information, in nats, that is not due to rounding."""
_RARE = 1e-6
"""Hidden classes of a lower probability are left out."""


@jit_no_arrays
def hidden_classes(
    digits: Integers,
    known: Flags,
    log_share: Floats,
    log_cells: Floats,
    out_hidden: Floats,
    out_likely: Floats,
) -> None:
    """Compute P(k | what is known) of each row, and log P(what is known)."""
    for row in range(len(digits)):
        for k in range(len(log_share)):
            out_hidden[row, k] = log_share[k]
        for i in range(digits.shape[1]):
            b = digits[row, i]
            if known[row, i] and b >= 0:
                for k in range(len(log_share)):
                    out_hidden[row, k] += log_cells[i, b, k]
        top, whole = out_hidden[row, 0], 0.0
        for k in range(1, len(log_share)):
            top = max(top, out_hidden[row, k])
        for k in range(len(log_share)):
            out_hidden[row, k] = math.exp(out_hidden[row, k] - top)
            whole += out_hidden[row, k]
        for k in range(len(log_share)):
            out_hidden[row, k] /= whole
        out_likely[row] = top + math.log(whole)


@jit_no_arrays
def count_cells(digits: Integers, weights: Floats, belongs: Floats, out: Floats) -> None:
    """Add the weight of the rows with each outcome of each column, by their classes."""
    for row in range(len(digits)):
        for i in range(digits.shape[1]):
            b = digits[row, i]
            if b >= 0:
                for k in range(belongs.shape[1]):
                    out[i, b, k] += weights[row] * belongs[row, k]


@jit_internal
def _n_log_n(x: float) -> float:
    return x * math.log(x) if x > 0.0 else 0.0


@jit
def choose_looks(
    hidden: Floats,
    known: Flags,
    labels: Integers,
    cells: Floats,
    outcomes: Integers,
    minus_entropy: Floats,
    share: float,
    prices: Floats,
    out: Integers,
) -> None:
    """Choose for each row the unknown column with the most information for its price; −1 for none.

    `minus_entropy[i, k]` is Σ_b P(b | k) log P(b | k).
    """
    number = labels.max() + 1
    label_mass = np.empty(number)
    few = np.empty(len(labels), np.int64)
    for row in range(len(hidden)):
        kept, whole = 0, 0.0
        for k in range(len(labels)):
            if hidden[row, k] > _RARE:
                few[kept] = k
                kept += 1
        before = 0.0
        for c in range(number):
            label_mass[c] = 0.0
        for j in range(kept):
            label_mass[labels[few[j]]] += hidden[row, few[j]]
            whole += hidden[row, few[j]]
        for c in range(number):
            before += _n_log_n(label_mass[c])
        before -= _n_log_n(whole)
        best, most = -1, 0.0
        for i in range(known.shape[1]):
            if known[row, i]:
                continue
            of_labels, of_cells, of_hidden = 0.0, 0.0, 0.0
            for b in range(outcomes[i]):
                for c in range(number):
                    label_mass[c] = 0.0
                here = 0.0
                for j in range(kept):
                    k = few[j]
                    both = hidden[row, k] * cells[i, b, k]
                    label_mass[labels[k]] += both
                    here += both
                of_cells += _n_log_n(here)
                for c in range(number):
                    of_labels += _n_log_n(label_mass[c])
            about_labels = of_labels - of_cells - before
            for j in range(kept):
                of_hidden += hidden[row, few[j]] * minus_entropy[i, few[j]]
            about_hidden = of_hidden + _n_log_n(whole) - of_cells
            worth = (1.0 - share) * about_labels + share * about_hidden
            if worth > _LEAST and worth / prices[row, i] > most:
                best, most = i, worth / prices[row, i]
        out[row] = best
