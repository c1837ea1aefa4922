"""What can be relied on: the opposite of optimism, for those who want to deploy and not to learn.

    r(a, ψ) = max( r̂(a, ψ) − conf₁(N(a, ψ), t),  max_i Σ p̂(ψ' | ψ, i) r(a, ψ'),  0 )

An action never tried counts 0, so nothing is recommended on hope. But what is known of an action
after one more look is known before it too, as an average: without the second term a state that was
only passed through would seem worthless, and a look that changes nothing would be recommended.
"""

import numpy as np

from askwise._typing import Floats, Integers
from askwise.estimation.estimates import Estimates
from askwise.lattice import Lattice
from askwise.radii import Radii
from askwise.statistics import Statistics


def cautious_estimates(statistics: Statistics, weight: Integers, radii: Radii) -> Estimates:
    """The rewards that are exceeded with confidence, and the frequencies."""
    counts = statistics.action_counts
    lower = statistics.mean_rewards() - np.sqrt(radii.reward / np.maximum(1, counts))
    reward: Floats = np.where(counts > 0, np.maximum(0.0, lower), 0.0)
    _average_upwards(statistics.lattice, reward, weight)
    return Estimates(reward.max(axis=1), reward.argmax(axis=1).astype(np.int16), weight, Radii())


def _average_upwards(lattice: Lattice, reward: Floats, weight: Integers) -> None:
    """Raise r(a, ψ) to its average over what a look can show, from the largest states down."""
    layout = lattice.layout
    actions = reward.shape[1]
    for subset in range(int(layout.levels[lattice.m]) - 1, -1, -1):
        members = lattice.members(subset)
        here = reward[layout.offsets[subset] : layout.offsets[subset + 1]]
        for i in sorted(set(range(len(layout.radices))) - set(members)):
            union = tuple(sorted((*members, i)))
            above, slot = lattice.subset(union), union.index(i)
            block = slice(layout.offsets[above], layout.offsets[above + 1])
            # the children of one state differ in the middle axis
            shape = (-1, int(layout.radices[i]), int(layout.strides[above, slot]))
            seen = (weight if weight.ndim == 1 else weight[:, slot])[block].reshape(shape)
            total = np.maximum(1, seen.sum(axis=1))[..., None]
            earned = (seen[..., None] * reward[block].reshape(*shape, actions)).sum(axis=1)
            np.maximum(here, (earned / total).reshape(here.shape), out=here)
