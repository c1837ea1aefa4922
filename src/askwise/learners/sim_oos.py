"""Sim-OOS: optimistic × simultaneous × no exploration × doubling."""

from askwise.learners.optimistic import OptimisticLearner
from askwise.policy.acquisition import Simultaneous


class SimOOS(OptimisticLearner):
    """Simultaneous Optimistic Observation Selection (Atan & van der Schaar, Algorithm 1).

    In round k it buys the set Î_k = argmax_I V̂_k(I) and takes ĥ_k(ψ), the action with the highest
    optimistic reward in the resulting state ψ; see `askwise.planning.simultaneous`.

    confidence: "practical" radii, the radii of the "theorem" (Theorem 1, corrected: docs/paper.md),
    or "tight" ones, which are narrower with the same guarantee (docs/radii.md).
    width: Widens (> 1) or narrows (< 1) the practical radii.
    delta: The theorem's and the tight radii hold with probability 1 − delta.
    clock: "doubling" rounds t in the radii up to the next power of two, "exact" does not.
    cap: conf₂ is at most 2 ("corrected"), or at most 1 as "printed", without a guarantee.
    storage: Counters for every state ("dense") or for visited states ("sparse"); "auto" decides by
    the size.
    window, detect: Forget old cases, for a population that changes; see docs/drift.md.

    >>> from askwise import Observation, Problem, SimOOS
    >>> learner = SimOOS(Problem(
    ...     observations=[Observation("mri", values=["neg", "pos"], cost=0.1)],
    ...     actions=["wait", "treat"],
    ... ))
    >>> for patient in range(500):
    ...     ill = patient % 5 == 0
    ...     case = learner.open()
    ...     if case.wanted:
    ...         case.observe({"mri": "pos" if ill else "neg"})
    ...     case.reward(1.0 if case.action == ("treat" if ill else "wait") else 0.0)
    >>> learner.policy.observations
    ('mri',)
    """

    name = "sim-oos"
    _acquisition = Simultaneous()
