r"""Radii as narrow as a guarantee allows: `confidence="tight"`.

With probability 1 − δ, at all times and for all states together, with η = 1.1,
K(t) = log t / log η and L(x, t) = η (log(x / δ) + 2 log(2 + K(t))),

    r̄(a, ψ) ≤ r̂ + conf₁,    conf₁ = b + √(b² + 2 ε r̂(1 − r̂)),
                            ε = L(4 A Ψ_tot, t) / N(a, ψ),    b = ε max(0, 1 − 2 r̂)
    Σ|p − p̂| ≤ conf₂,       conf₂ = min(2, √( 2 (L(2 S, t) + η k log 2) / N )),

k being the number of outcomes of just this look, S the number of looks (ψ, i), or of sets I.

**Why that holds.** Let μ be a mean of numbers in [0, 1] that come one by one, each with mean μ
given what came before (rewards of a in ψ are, and so is whether a look showed one of some
outcomes). Cut n into epochs [η^k, η^(k+1)). By Chernoff's bound on the martingale of an epoch,
n kl(μ̂_n, μ) exceeds η x for some n of it, on one side, with probability at most exp(−x). Epoch k
gets the part 1/((k+1)(k+2)) of the failures, which sums to 1, and an n ≤ t is in an epoch
k ≤ K(t): so n kl(μ̂_n, μ) ≤ L holds for all n at once, and t comes in as log log t, instead of t⁵.

- Between μ̂ and μ, kl(μ̂, μ) ≥ (μ − μ̂)² / (2 max x(1 − x)), and x(1 − x) ≤ μ̂(1 − μ̂) + (x − μ̂)(1 − 2μ̂)
  there. Solved for μ − μ̂ that is conf₁, of Bernstein's form. r̂(1 − r̂) is the most that the variance
  of numbers in [0, 1] with that mean can be: it is theirs if rewards are 0 or 1. A measured
  variance would narrow it further where rewards lie between.
- Σ|p − p̂| is twice the largest excess of p̂ over p on a set of outcomes; there are fewer than 2^k
  such sets, and 2 (μ̂ − μ)² ≤ kl on each (Weissman et al., 2003: Inequalities for the L1 deviation
  of the empirical distribution).

Epochs and the Chernoff bound on them are those of Garivier and Cappé (2011: The KL-UCB algorithm);
Howard et al. (2021: Time-uniform, nonparametric, nonasymptotic confidence sequences) treat them at
large.
"""

import math

from askwise._kernels.radii import EPOCH, Schedule
from askwise._support.typing import AcquisitionName
from askwise.states import Lattice


def tight_radii(lattice: Lattice, acquisition: AcquisitionName, *, delta: float) -> Schedule:
    """Time-uniform radii, by the variance of rewards and the outcomes of each look."""
    longer = math.exp(EPOCH)
    pairs = lattice.size * len(lattice.problem.actions)
    looks = lattice.context_subsets if acquisition == "simultaneous" else count_looks(lattice)
    return Schedule(
        earliest=1.0,
        reward=longer * math.log(4 * pairs / delta),
        reward_slope=0.0,
        reward_epochs=2 * longer,
        outcomes=2 * longer * math.log(2 * max(1, looks) / delta),
        outcomes_epochs=4 * longer,
        per_outcome=2 * longer * math.log(2),
        by_variance=1.0,
    )


def count_looks(lattice: Lattice) -> int:
    """S: how many pairs (ψ, i) there are in which i can be bought."""
    return sum(
        len(lattice.states(subset)) * (lattice.buyable - len(lattice.members(subset)))
        for subset in range(lattice.subsets)
        if len(lattice.members(subset)) < lattice.m
    )
