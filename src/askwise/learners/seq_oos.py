"""Seq-OOS: optimistic × sequential × no exploration × doubling."""

from askwise.learners.optimistic import OptimisticLearner
from askwise.policy.acquisition import Sequential


class SeqOOS(OptimisticLearner):
    """Sequential Optimistic Observation Selection (Atan & van der Schaar, Section 4.2).

    In round k it buys ĝ_k(ψ) in the state ψ reached so far, until that is nothing, then takes
    ĥ_k(ψ). Both come from optimistic dynamic programming, see `askwise.planning.sequential`.

    confidence: "practical" radii, the radii of the "theorem" (Theorem 2, corrected: docs/paper.md),
    or "tight" ones, which are narrower with the same guarantee (docs/radii.md).
    width: Widens (> 1) or narrows (< 1) the practical radii.
    delta: The theorem's and the tight radii hold with probability 1 − delta.
    clock: "doubling" rounds t in the radii up to the next power of two, "exact" does not.
    cap: conf₂ is at most 2 ("corrected"), or at most 1 as "printed", without a guarantee.
    storage: Counters for every state ("dense") or for visited states ("sparse"); "auto" decides by
    the size.
    window, detect: Forget old cases, for a population that changes; see docs/drift.md.

    >>> from askwise import Observation, Problem, SeqOOS
    >>> learner = SeqOOS(Problem(
    ...     observations=[Observation("mri", values=["neg", "pos"], cost=0.1)],
    ...     actions=["wait", "treat"],
    ... ))
    >>> for patient in range(500):
    ...     ill = patient % 5 == 0
    ...     case = learner.open()
    ...     while case.wanted:
    ...         case.observe({"mri": "pos" if ill else "neg"})
    ...     case.reward(1.0 if case.action == ("treat" if ill else "wait") else 0.0)
    >>> print(learner.policy.tree())
    buy mri (0.1)
    ├─ neg → wait
    └─ pos → treat
    """

    name = "seq-oos"
    _acquisition = Sequential()
