"""Optimism: the theorems' confidence radii, and practical ones.

    r̂*(ψ) = max_a min(1, r̂(a, ψ) + conf₁(N(a, ψ), t))

Theorem 1 (simultaneous) and Theorem 2 (sequential) set, for a confidence of 1 − δ,

    conf₁(n, t) = min(1, √( log(20 Ψ_tot A t⁵ / δ) / (2 max(1, n)) ))
    conf₂(n, t) = min(1, √( 10 Ψ_tot log(4 t / δ) / max(1, n) ))              simultaneous
    conf₂(n, t) = min(1, √( 10 Ψ_max log(4 D Ψ_tot t / δ) / max(1, n) ))      sequential

These hold for every problem and are far too wide to learn from in the 200,000 cases of the paper's
experiment. The practical radii are, for k outcomes and a `width` of 1,

    conf₁(n, t) = min(1, width/4 · √(log t / n))
    conf₂(n, t) = min(1, width/4 · √(k log t / n))

The quarter is measured, not derived: docs/radii.md has the figures, benchmarks/radii.py the code.
"""

import math
from typing import Literal

import numpy as np

from askwise._typing import Floats, Integers
from askwise.errors import OptionError
from askwise.estimation.estimates import Estimates, Radii
from askwise.lattice import Lattice
from askwise.statistics import UNIT, Statistics

CLOCKS = 35
"""Enough powers of two for every case that can be counted."""

Plan = Literal["simultaneous", "sequential"]


def theorem_radii(lattice: Lattice, plan: Plan, t: int, *, delta: float) -> Radii:
    """The radii of Theorem 1 or 2 at time t."""
    states, actions = lattice.size, len(lattice.problem.actions)
    reward = (math.log(20 * states * actions / delta) + 5 * math.log(t)) / 2
    if plan == "simultaneous":
        outcomes = 10 * states * math.log(4 * t / delta)
    else:
        observations = len(lattice.problem.observations)
        outcomes = 10 * lattice.most_outcomes * math.log(4 * observations * states * t / delta)
    return Radii(reward=reward, outcomes=outcomes)


def practical_radii(t: int, *, width: float) -> Radii:
    """Radii narrow enough to learn from; `width` scales both of them."""
    spread = (width / 4) ** 2 * math.log(max(2, t))
    return Radii(reward=spread, per_outcome=spread)


def optimistic_estimates(statistics: Statistics, weight: Integers, radii: Radii) -> Estimates:
    """r̂*_k(ψ) and ĥ_k(ψ) for every state, from the counters."""
    from askwise._kernels.optimism import optimistic_rewards

    reward = np.empty(statistics.lattice.size)
    action = np.empty(statistics.lattice.size, np.int16)
    optimistic_rewards(
        statistics.action_counts, statistics.reward_sums, UNIT, radii.reward, reward, action
    )
    return Estimates(reward, action, weight, radii)


class Confidence:
    """How wide the radii are: the theorems' (`delta`), or practical ones (`width`).

    With the "doubling" clock t is held at the next power of two: a little wider, so still valid,
    and between two rounds no radius moves. The "exact" clock takes t as it is.
    """

    def __init__(self, kind: str, *, width: float, delta: float, clock: str) -> None:
        if kind not in ("practical", "theorem"):
            raise OptionError(f"confidence must be 'practical' or 'theorem', got {kind!r}")
        if not (isinstance(width, int | float) and 0 <= width < math.inf):
            raise OptionError(f"width must be a finite number of at least 0, got {width!r}")
        if not (isinstance(delta, int | float) and 0 < delta < 1):
            raise OptionError(f"delta must be a number between 0 and 1, got {delta!r}")
        if clock not in ("doubling", "exact"):
            raise OptionError(f"clock must be 'doubling' or 'exact', got {clock!r}")
        self.kind, self.width, self.delta = kind, float(width), float(delta)
        self.clock = clock

    def widths(self, lattice: Lattice, plan: Plan) -> Floats:
        """The widths of the radii at t = 2^k, at [k]."""
        return np.array([self._at(lattice, plan, 1 << k) for k in range(CLOCKS)])

    def radii(self, lattice: Lattice, plan: Plan, t: int) -> Radii:
        """The radii of a round that begins with case t."""
        return self._at(lattice, plan, t if self.clock == "exact" else 1 << (t - 1).bit_length())

    def _at(self, lattice: Lattice, plan: Plan, t: int) -> Radii:
        if self.kind == "theorem":
            return theorem_radii(lattice, plan, t, delta=self.delta)
        return practical_radii(t, width=self.width)
