"""Where a log of decisions says little about what an action earns.

A rule takes each action where it earns much, and hardly ever elsewhere. A model expects the same of
other states, so there the action seems to earn as much, and its uncertainty is too small. So after
a log of decisions `FEW` imagined cases of every full state φ took each action, and earned the
least. Beside n(a, φ) real ones they are the share

    u(a, φ) = FEW / (n(a, φ) + FEW),

where n(a, φ) are the cases that took the action in any state that agrees with φ.
"""

import numpy as np

from askwise._support.typing import Floats, Integers
from askwise.states import Lattice

FEW = 2.0
"""2 to 20 do much the same (docs/decisions-learning.md)."""


def untried(lattice: Lattice, digits: Integers, counts: Integers) -> Floats:
    """Returns u(a, φ) at [φ, a].

    `digits` are the values of each full state, in the order of the lattice. `counts` are N(a, ψ) at
    [ψ, a].
    """
    taken = np.zeros((len(digits), counts.shape[1]))
    for subset in range(lattice.subsets):
        taken += counts[lattice.states_of(subset, digits)]
    share: Floats = FEW / (taken + FEW)
    return share
