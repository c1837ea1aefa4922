"""One step ahead: optimistic × sequential and myopic × no exploration × doubling."""

from __future__ import annotations

from typing import ClassVar

from askwise.learners.optimistic import Optimistic, OptimisticLearner
from askwise.learners.rounds import Rounds
from askwise.learners.strategy import Cases, Progress
from askwise.planning import plan_sequential
from askwise.policy import PathTable, Policy
from askwise.policy.acquisition import Sequential
from askwise.states import Lattice


class Myopic(Optimistic):
    """Buys what would be best if it were the last thing bought; planned in full every round."""

    storages: ClassVar[tuple[str, ...]] = ("auto", "dense")

    def plan(self, now: Progress, lattice: Lattice) -> Policy:
        """The look whose value of information exceeds its price by most, in every state."""
        return self.full_plan(now, lattice)

    def full_plan(self, now: Progress, lattice: Lattice) -> Policy:
        """The look whose value of information exceeds its price by most, in every state."""
        weight = self.acquisition.weight(now.statistics)
        estimates = self.estimates(now, now.statistics, weight)
        plan = plan_sequential(lattice, estimates, myopic=True)
        return Policy(PathTable(lattice, plan.next, estimates.action, plan.values))

    def adopt(self, now: Progress, policy: Policy) -> Policy:
        """The policy as it is: no planner keeps it up to date."""
        return policy

    def run(self, rounds: Rounds, cases: Cases) -> None:
        """Decide these cases, a compiled loop for each round."""
        rounds.run_round_by_round(cases)


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
