"""Sim-OOS: optimistic × simultaneous × no exploration × doubling."""

from askwise.learners.optimistic import OptimisticLearner
from askwise.policy.acquisition import Simultaneous


class SimOOS(OptimisticLearner):
    """Simultaneous Optimistic Observation Selection (Atan & van der Schaar, Algorithm 1).

    In round k it buys Î_k = argmax_I V̂_k(I) at once and takes ĥ_k(ψ), the action with the highest
    optimistic reward in the state ψ that appears; see `askwise.planning.simultaneous`.

    confidence: "practical" radii; the "theorem"'s (Theorem 1, corrected: docs/paper.md); "tight"
        ones, which are narrower and hold too (docs/radii.md).
    width: widens (> 1) or narrows (< 1) the practical radii.
    delta: the theorem's and the tight radii hold with probability 1 − delta.
    clock: "doubling" holds t in the radii at the next power of two, "exact" does not.
    cap: conf₂ is at most 2 ("corrected"), or at most 1 as "printed", without a guarantee then.
    storage: counters for every state ("dense") or those visited ("sparse"); "auto" goes by size.
    window, detect: forget, for a world that changes; see docs/drift.md.

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
