"""What every way of estimating hands to the planners."""

from typing import NamedTuple

from askwise._kernels.radii import Radii
from askwise._support.typing import Choices, Floats, Weights


class Estimates(NamedTuple):
    """What is believed of each state, indexed as in the lattice."""

    reward: Floats
    """r̂*(ψ) = max_a r̂(a, ψ) − cost(a)/β: what the best action earns there, optimism included, less
    what it costs; over the actions whose requirements are met."""
    action: Choices
    """ĥ(ψ): that action."""
    weight: Weights
    """(states): N(ψ) or p(ψ); (states, m): N(ψ, i, ψ') at [ψ', slot of i]. Only the proportions
    among the outcomes of one look matter, and their sum for its radius."""
    radii: Radii
