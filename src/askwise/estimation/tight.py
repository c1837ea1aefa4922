r"""The tight radii are as narrow as the proof of a guarantee allows: `confidence="tight"`.

With probability 1 − δ, at all times and for all states together, with η = 1.1, K(t) = log t / log η
and L(x, t) = η (log(x / δ) + 2 log(2 + K(t))),

    r̄(a, ψ) ≤ r̂ + conf₁,    conf₁ = the least of b + √(b² + 2 ε v) for
                                v = r̂(1 − r̂),        b = ε max(0, 1 − 2 r̂)        and
                                v = r̂(1 − r̂) − g,    b = ε max(0, 4/3 − 2 r̂),
                                ε = L(8 A Ψ_tot, t) / N(a, ψ),    g = max(0, ĝ − √(ε ĝ / 2))
    Σ|p − p̂| ≤ conf₂,       conf₂ = min(2, √( 2 (L(2 S, t) + η k log 2) / N )),

where ĝ is the mean of r(1 − r), which is 0 if all rewards are 0 or 1. k is the number of outcomes
of this observation, and S is the number of pairs (ψ, i), or of sets I.

**Proof.** Let μ be a mean of numbers in [0, 1] that come one by one, each with mean μ given the
earlier ones. Rewards of a in ψ are such numbers. So are the indicators of a set of outcomes of an
observation. Cut n into epochs [η^k, η^(k+1)). By Chernoff's bound on the martingale of an epoch, n
kl(μ̂_n, μ) exceeds η x for some n of it, on one side, with probability at most exp(−x). Epoch k
gets the part 1/((k+1)(k+2)) of the failures, which sums to 1, and an n ≤ t is in an epoch k ≤ K(t).
So n kl(μ̂_n, μ) ≤ L holds for all n at once, and t enters as log log t, instead of t⁵.

- **From the mean.** Between μ̂ and μ, kl(μ̂, μ) ≥ (μ − μ̂)² / (2 max x(1 − x)), and there
  x(1 − x) ≤ μ̂(1 − μ̂) + (x − μ̂)(1 − 2μ̂). Solved for μ − μ̂ that is the first conf₁, of Bernstein's
  form. r̂(1 − r̂) is the largest variance of numbers in [0, 1] with that mean. It is exact if
  rewards are 0 or 1.
- **From the measured variance.** Rewards have the variance σ² = μ(1 − μ) − γ, where γ is the mean
  of r(1 − r). Bennett's bound in place of Chernoff's has, in the same epochs,
  n σ² h((μ − μ̂) / σ²) ≤ L with h(u) = (1 + u) log(1 + u) − u ≥ u² / (2 + 2u/3). So
  (μ − μ̂)² ≤ 2ε (σ² + (μ − μ̂)/3). Also, 4 r(1 − r) lies in [0, 1], and kl on its lower side gives
  γ ≥ g, since kl(x, y) ≥ (x − y)² / 2x for y < x. With μ(1 − μ) ≤ μ̂(1 − μ̂) + (μ − μ̂)(1 − 2μ̂)
  that is the second conf₁.
- **Together.** Half of δ is for rewards: four events of each (a, ψ), kl on both sides, Bennett's
  and the one of γ. Hence 8 A Ψ_tot.
- **Outcomes.** Σ|p − p̂| is twice the largest excess of p̂ over p on a set of outcomes. There are
  fewer than 2^k such sets, and 2 (μ̂ − μ)² ≤ kl on each (Weissman et al., 2003: Inequalities for the
  L1 deviation of the empirical distribution).

Epochs and the Chernoff bound on them are those of Garivier and Cappé (2011: The KL-UCB algorithm).
Howard et al. (2021: Time-uniform, nonparametric, nonasymptotic confidence sequences) treat them in
general.
"""

import math

from askwise._kernels.radii import EPOCH, Schedule
from askwise._support.typing import AcquisitionName
from askwise.states import Lattice


def tight_radii(lattice: Lattice, acquisition: AcquisitionName, *, delta: float) -> Schedule:
    """Time-uniform radii, by the measured variance of rewards and the outcomes of each
    observation.
    """
    longer = math.exp(EPOCH)
    pairs = lattice.size * len(lattice.problem.actions)
    looks = lattice.context_subsets if acquisition == "simultaneous" else count_looks(lattice)
    return Schedule(
        earliest=1.0,
        reward=longer * math.log(8 * pairs / delta),
        reward_slope=0.0,
        reward_epochs=2 * longer,
        outcomes=2 * longer * math.log(2 * max(1, looks) / delta),
        outcomes_epochs=4 * longer,
        per_outcome=2 * longer * math.log(2),
        by_variance=1.0,
    )


def count_looks(lattice: Lattice) -> int:
    """S: the number of pairs (ψ, i) in which i can be bought."""
    return sum(
        len(lattice.states(subset)) * (lattice.buyable - len(lattice.members(subset)))
        for subset in range(lattice.subsets)
        if len(lattice.members(subset)) < lattice.m
    )
