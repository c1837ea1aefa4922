"""The counts of one round as arrays, for the kernels that run many cases."""

from __future__ import annotations

from typing import NamedTuple

from askwise._support.typing import Integers


class RoundCounts(NamedTuple):
    """By row, the counts of one choice: that which the policy of the round makes in the state.

    They are valid where `counted_in` is the number of the round, so that a new round clears
    nothing.
    """

    before: Integers
    """N_k: how often the choice was counted before the round began."""
    within: Integers
    """ν_k: how often it was counted within the round."""
    counted_in: Integers
    """The round in which it was counted last."""
