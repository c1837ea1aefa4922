"""Optimism: the theorems' confidence radii, tight ones, and practical ones.

    r̂*(ψ) = max_a min(1, r̂(a, ψ) + conf₁(N(a, ψ), t)) − cost(a)/β

Theorem 1 (simultaneous) and Theorem 2 (sequential) have, for a confidence of 1 − δ,

    conf₁(n, t) = min(1, √( log(20 Ψ_tot A t⁵ / δ) / (2 max(1, n)) ))
    conf₂(n, t) = min(2, √( 10 Ψ_tot log(4 t / δ) / max(1, n) ))              simultaneous
    conf₂(n, t) = min(2, √( 10 Ψ_max log(4 D Ψ_tot t / δ) / max(1, n) ))      sequential

The paper prints a cap of 1 for conf₂. With it Theorem 2 is false, because an L1 distance reaches 2
(docs/paper.md, "An erratum"). `cap="printed"` uses it nevertheless. With a cap of 2 the radii hold
for every problem. But they are far too wide to learn from in the 200,000 cases of the paper's
experiment. The tight radii hold as well, and are narrower (`estimation/tight.py`). The practical
radii have no guarantee. For k outcomes and a `width` of 1 they are

    conf₁(n, t) = min(1, width/4 · √(ρ log t / n))
    conf₂(n, t) = min(2, width/4 · √(k log t / n))

where ρ is the variance of the rewards relative to a coin's. It is 1 if they are 0 or 1. The quarter
is measured, not derived: docs/radii.md has the figures, benchmarks/radii.py the code.
"""

import math

import numpy as np

from askwise._kernels.radii import Radii, Schedule
from askwise._support.typing import AcquisitionName, Integers
from askwise.counting import UNIT, Statistics
from askwise.errors import OptionError
from askwise.estimation.estimates import Estimates
from askwise.estimation.tight import tight_radii
from askwise.states import Lattice


def theorem_radii(lattice: Lattice, acquisition: AcquisitionName, *, delta: float) -> Schedule:
    """The radii of Theorem 1 or 2."""
    states, actions = lattice.size, len(lattice.problem.actions)
    if acquisition == "simultaneous":
        slope, at_first = 10 * states, math.log(4 / delta)
    else:
        observations = len(lattice.problem.observations)
        slope, at_first = 10 * lattice.most_outcomes, math.log(4 * observations * states / delta)
    return Schedule(
        earliest=1.0,
        reward=math.log(20 * states * actions / delta) / 2,
        reward_slope=5 / 2,
        outcomes=slope * at_first,
        outcomes_slope=float(slope),
    )


def practical_radii(*, width: float) -> Schedule:
    """Radii narrow enough to learn from; `width` scales both of them."""
    spread = (width / 4) ** 2
    return Schedule(
        earliest=2.0,
        reward=0.0,
        reward_slope=spread,
        per_outcome_slope=spread,
        measured=1.0,
    )


def optimistic_estimates(
    statistics: Statistics, weight: Integers, radii: Radii, lattice: Lattice | None = None
) -> Estimates:
    """r̂*_k(ψ) and ĥ_k(ψ) for every state, from the counters.

    The costs of actions are subtracted at the prices and the stake of the lattice, or of the
    counters if there is none.
    """
    from askwise._kernels.planning.optimism import optimistic_rewards

    lattice = statistics.lattice if lattice is None else lattice
    reward = np.empty(lattice.size)
    action = np.empty(lattice.size, np.int16)
    optimistic_rewards(
        statistics.action_counts,
        statistics.reward_sums,
        statistics.graded_sums,
        UNIT,
        radii.reward,
        radii.by_variance,
        radii.measured,
        lattice.layout.offsets,
        lattice.offsets_or_none,
        reward,
        action,
    )
    return Estimates(reward, action, weight, radii)


CAPS = {"corrected": 2.0, "printed": 1.0}
"""The cap of conf₂."""


class Confidence:
    """The width of the radii: the theorems' or tight ones (`delta`), or practical ones (`width`).

    With the "doubling" clock t is rounded up to the next power of two. The radii are a little
    wider, so still valid, and do not change between most rounds. The "exact" clock uses t itself.
    """

    def __init__(
        self, kind: str, *, width: float, delta: float, clock: str, cap: str = "corrected"
    ) -> None:
        if kind not in ("practical", "theorem", "tight"):
            raise OptionError(f"confidence must be 'practical', 'theorem' or 'tight', got {kind!r}")
        if not (isinstance(width, int | float) and 0 <= width < math.inf):
            raise OptionError(f"width must be a finite number of at least 0, got {width!r}")
        if not (isinstance(delta, int | float) and 0 < delta < 1):
            raise OptionError(f"delta must be a number between 0 and 1, got {delta!r}")
        if clock not in ("doubling", "exact"):
            raise OptionError(f"clock must be 'doubling' or 'exact', got {clock!r}")
        if cap not in CAPS:
            raise OptionError(f"cap must be 'corrected' or 'printed', got {cap!r}")
        self.kind, self.width, self.delta = kind, float(width), float(delta)
        self.clock, self.cap = clock, cap

    def schedule(self, lattice: Lattice, acquisition: AcquisitionName) -> Schedule:
        """How the radii grow."""
        if self.kind == "practical":
            schedule = practical_radii(width=self.width)
        else:
            radii = theorem_radii if self.kind == "theorem" else tight_radii
            schedule = radii(lattice, acquisition, delta=self.delta)
        return schedule._replace(cap=CAPS[self.cap])

    def radii(self, lattice: Lattice, acquisition: AcquisitionName, t: int) -> Radii:
        """The radii of a round that begins with case t."""
        held = t if self.clock == "exact" else 1 << (t - 1).bit_length()
        return self.schedule(lattice, acquisition).at(held)
