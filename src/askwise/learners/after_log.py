"""Rounds after a log, of learners whose own plans would explore as if there were none.

An optimistic plan tries what the log has seldom, however good the log's recommendation is. So a
learner that begins with a log of n cases follows the recommendation in its first n cases, by all
that is known. It follows its own plan only in some rounds, which are drawn with probability

    min(OFTEN, MOST_LOST · gain / lost),

where `lost` is what its own plan gains less, by cautious estimates. So these cost at most
`MOST_LOST` of the gain on average. Once it has had as many cases as the log, it
continues by its own plans. Otherwise it could not correct a small or biased log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from askwise.estimation.evidence import Beliefs
from askwise.policy import Policy
from askwise.policy.expected_gain import expected_gain
from askwise.policy.recommending import recommended_at
from askwise.policy.tables import PathTable, SetTable
from askwise.states import Lattice

if TYPE_CHECKING:
    from askwise.learners.rounds import Rounds
    from askwise.learners.strategy import Cases, Progress, Strategy

MOST_LOST = 0.005
"""The part of the recommendation's gain that following its own plan may cost on average."""
ROUNDS = 50
"""The rounds in which the cases after a log are divided, unless they end sooner."""
OFTEN = 0.05
"""The most rounds that follow its own plan, even if that seems to lose nothing: that is by the
estimates which it was planned with."""
SELDOM = 0.001
"""The part of the rounds that follow its own plan if nothing can be said about the loss."""


def length_after_log(strategy: Strategy) -> int:
    """The most cases of a round that follows the log."""
    return max(1, strategy.log.cases // ROUNDS)


def plan_after_log(strategy: Strategy, now: Progress) -> Policy:
    """Returns the recommendation, or in some rounds the strategy's own plan."""
    own = strategy.plan(now, now.lattice)
    best, evidence = strategy.recommend(now), strategy.evidence(now)
    often = SELDOM
    if isinstance(evidence, Beliefs) and _is_dense(own) and _is_dense(best):
        p, relied = evidence.probability, evidence.cautious_rewards()
        gain, own_gain = (expected_gain(one, p, relied) for one in (best, own))
        lost, most = gain - own_gain, MOST_LOST * abs(best.value)
        often = OFTEN if lost * OFTEN <= most else most / lost
    return own if now.opened and now.rng.random() < often else best


def _is_dense(policy: Policy) -> bool:
    table = policy.table
    is_whole = isinstance(table, PathTable | SetTable) and table.row_of is None
    return is_whole and policy.exploration is None


def plan_for_case_after_log(strategy: Strategy, now: Progress, lattice: Lattice) -> Policy:
    """Returns the recommendation for a case with its own prices or stake."""
    evidence = strategy.evidence(now).at_stake(lattice.stake)
    return recommended_at(strategy.acquisition, evidence, lattice)


def run_one_by_one(rounds: Rounds, cases: Cases) -> None:
    """Decides these cases by opening them, because they follow policies of different kinds."""
    observations, buyable = rounds.now.lattice.observations, rounds.now.lattice.buyable
    for t, row in enumerate(cases.values.tolist()):
        shown = {o.name: o.outcomes[x] for o, x in zip(observations, row, strict=True)}
        given = {o.name: shown[o.name] for o in observations[buyable:]}
        case = rounds.open(given or None, None)
        cases.round[t] = rounds.now.round
        while case.wanted:
            case.observe({name: shown[name] for name in case.wanted})
        cases.state[t], cases.action[t] = case.state_index, case.action_index
        case.share = float(cases.rewards[t, case.action_index])
        rounds.rewarded(case, case.share, None)
