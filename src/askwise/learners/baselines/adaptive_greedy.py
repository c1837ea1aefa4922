"""One step ahead: optimistic × sequential and myopic × no exploration × doubling."""

from __future__ import annotations

from askwise.learners.optimistic import OptimisticInFull, OptimisticLearner
from askwise.learners.strategy import Progress
from askwise.planning import plan_sequential
from askwise.policy import PathTable, Policy
from askwise.policy.acquisition import Sequential
from askwise.states import Lattice


class Myopic(OptimisticInFull):
    """Buys what would be best if it were the last thing bought."""

    def full_plan(self, now: Progress, lattice: Lattice) -> Policy:
        """The look whose value of information exceeds its price by most, in every state."""
        weight = self.acquisition.weight(now.statistics)
        estimates = self.estimates(now, now.statistics, weight)
        plan = plan_sequential(lattice, estimates, myopic=True)
        return Policy(PathTable(lattice, plan.look, estimates.action, plan.values))


class AdaptiveGreedy(OptimisticLearner):
    """Buys while one look is worth its price by itself.

    D. Golovin, A. Krause: Adaptive submodularity (2010): greedily take the item with the largest
    expected marginal benefit given what was seen,

        Δ(i | ψ) = β Σ p̂(ψ' | ψ, i) max_a r̂(a, ψ') − β max_a r̂(a, ψ) − c_i,

    here on the optimistic estimates of Seq-OOS. With true numbers, two looks that only tell
    something together (parity) are never bought: that is the price of looking one step ahead.
    Optimism makes up for some of it, since a state not yet known to be poor is worth a look.

    The options are those of Seq-OOS.

    >>> from askwise.simulation import simulate
    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = AdaptiveGreedy(patients.problem)
    >>> round(float(simulate(learner, patients, steps=20_000, rng=0).gain.mean()), 1)
    78.6
    """

    name = "adaptive-greedy"
    _acquisition = Sequential()
    _kind = Myopic
