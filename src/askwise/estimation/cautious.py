"""Cautious estimates, the opposite of optimism, for a policy that is deployed.

    r(a, ψ) = max( r̂(a, ψ) − conf₁(N(a, ψ), t),  max_i Σ p̂(ψ' | ψ, i) r(a, ψ'),  0 )

over the observations i that were ever bought in ψ. An action that was never tried counts 0, so it
is not recommended. But an estimate after one more observation also gives an average before it. This
is the second term. Without it a state that cases only passed through would seem worthless, and an
observation that changes nothing would be recommended.
"""

from typing import NamedTuple

import numpy as np

from askwise._support.typing import AcquisitionName, Choices, Floats, Integers
from askwise.counting import UNIT, Statistics
from askwise.estimation.optimistic import practical_radii


class Cautious(NamedTuple):
    """Cautious estimates, by row."""

    reward: Floats
    """What the best action earns less its cost, in units of β."""
    action: Choices
    """The best action."""
    subsets: Integers
    """The subset of each row's state."""
    order: Integers
    """The rows from the largest states down."""


def cautious_rewards(statistics: Statistics, acquisition: AcquisitionName) -> Cautious:
    """Lower confidence bounds of the rewards.

    p̂ comes from N(ψ') if cases bought sets (simultaneous), else from N(ψ, i, ψ').
    """
    from askwise._kernels.planning.cautious import average_upwards
    from askwise._kernels.planning.optimism import DOUBT

    radii = practical_radii(width=1.0).at(statistics.cases + 1)
    layout, states = statistics.lattice.layout, statistics.states
    subsets = np.searchsorted(layout.offsets, states, side="right") - 1
    order = np.argsort(-layout.sizes[subsets], kind="stable")
    order = order[states[order] >= 0]  # row 0 has no state if rows are sparse
    counts = statistics.action_counts[: len(states)]
    mean = statistics.mean_rewards()[: len(states)]
    width = np.full(counts.shape, radii.reward)
    graded = statistics.graded_sums[: len(states)]
    rows, actions = np.nonzero(graded)
    if len(rows):  # these vary less than a coin
        of = (rows, actions)
        earned = statistics.reward_sums[of] * UNIT
        width[of] *= 1.0 - graded[of] * UNIT / (earned * (1.0 - mean[of]) + DOUBT)
    lower = mean - np.sqrt(width / np.maximum(1, counts))
    reward: Floats = np.where(counts > 0, np.maximum(0.0, lower), 0.0)
    room = np.empty(reward.shape[1])
    by_visits = acquisition == "simultaneous"
    average_upwards(layout, statistics.counters, order, subsets, by_visits, reward, room)
    offsets = statistics.lattice.action_offsets
    if offsets is not None:
        reward += offsets[subsets]
    action = reward.argmax(axis=1).astype(np.int16)
    return Cautious(reward.max(axis=1), action, subsets, order)
