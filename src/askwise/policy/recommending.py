"""The recommended policy, from any kind of evidence.

Plans use cautious numbers: rewards less one standard deviation (`Beliefs`), or lower bounds among
what was tried (`CountedEvidence`). The numbers shown are means, so the value of a recommendation is
the gain at the root of its tree. Separate estimates of states need not average out. So the plan is
corrected afterwards. An observation is not bought if the same follows all its values. Nothing is
bought where acting at once has a higher expected gain. After a log of decisions that is judged by
cautious numbers, else by the means.
"""

from __future__ import annotations

import numpy as np

from askwise._support.numbers import shown
from askwise._support.typing import Choices, Floats
from askwise.estimation.evidence import Beliefs, CountedEvidence
from askwise.planning.trees import without_idle_looks
from askwise.policy.acquisition import Acquisition
from askwise.policy.budgeted import (
    BESIDE,
    Kinds,
    Line,
    Within,
    at_prices_of,
    best_within,
    line_of,
    mean_line,
)
from askwise.policy.expected_gain import expected_spend
from askwise.policy.exploration import PathExploration
from askwise.policy.policy import Policy
from askwise.policy.tables import PathTable, SetTable
from askwise.policy.trees.growing import node_of
from askwise.states import Lattice


def best_by(
    acquisition: Acquisition, evidence: Beliefs | CountedEvidence, lattice: Lattice
) -> Policy:
    """Returns the best policy at the prices of a lattice, by cautious numbers."""
    if isinstance(evidence, Beliefs):
        return acquisition.best_by_beliefs(lattice, evidence)
    return acquisition.best_by_counters(evidence.at(lattice))


def recommended(acquisition: Acquisition, evidence: Beliefs | CountedEvidence) -> Policy:
    """Returns the recommended policy for a problem."""
    return recommended_at(acquisition, evidence, evidence.lattice)


def recommended_within(
    acquisition: Acquisition, evidence: Beliefs, budget: float, kinds: Kinds
) -> tuple[Within, Policy]:
    """Returns the recommended policy within an average spend, for cases with a stake of 1.

    The spend is that of all cases. `kinds` has the share of the cases of each kind, with their
    stakes and prices; those with a stake of 1 at the usual prices come first.
    """
    assert evidence.lattice.stake == 1.0  # a budget is for all cases together
    lattice, every = evidence.lattice, np.arange(evidence.lattice.size)
    mean, shares = lattice.net(evidence.reward), [share for share, _ in kinds]

    def line(at: Lattice, price: float) -> Line:
        known = evidence.at_stake(at.stake)
        policy = recommended_at(acquisition, known, at.at_rate(1.0 + price))
        relied = at.net(known.cautious_rewards())[every, policy.actions]
        return line_of(policy, at, known.probability, relied)

    def plan(price: float) -> Line:
        return mean_line(shares, [line(at, price) for _, at in kinds], price)

    def finish(policy: Policy) -> Policy:
        table = at_prices_of(lattice, policy, evidence.probability, mean[every, policy.actions])
        return Policy(table, frequency=policy.frequency).recommended_by(evidence)

    within = best_within(plan, budget, lattice.problem.reward_value)
    found = within.mixed(finish)
    if len(kinds) == 1:
        found.note += ", if every case has a stake of 1"
    else:
        own = shown(expected_spend(found, evidence.probability))
        found.note += (
            f", over all stakes and prices; cases with a stake of 1 at the usual prices spend {own}"
        )
    return within, found


def recommended_for_stake(acquisition: Acquisition, evidence: Beliefs, within: Within) -> Policy:
    """Returns what is recommended for cases of the stake of the evidence, within a budget.

    The budget is for all cases together. So a case of any stake is planned at the prices 1 + λ of
    `within`, the best for all of them. If two policies are as good at λ, they are mixed alike.
    """
    lattice, every = evidence.lattice, np.arange(evidence.lattice.size)
    price, share = within.shadow_price, within.share

    def plan(rate: float) -> Policy:
        policy = recommended_at(acquisition, evidence, lattice.at_rate(rate))
        mean = lattice.net(evidence.reward)[every, policy.actions]
        table = at_prices_of(lattice, policy, evidence.probability, mean)
        return Policy(table, frequency=policy.frequency).recommended_by(evidence)

    if share == 1.0:  # the budget is not needed
        found = plan(1.0 + price)
    else:
        found, dear = (plan((1.0 + price) * (1.0 + beside)) for beside in (BESIDE, -BESIDE))
        if share > 0.0 and dear.tree() != found.tree():
            found = dear.mixed(found, 1.0 - share)
    found.shadow_price = price
    found.note = (
        f"For cases with a stake of {shown(lattice.stake)}, planned at the budget's shadow price, "
        f"{shown(price, decimals=2)}; the budget is for all cases together"
    )
    return found


def recommended_at(
    acquisition: Acquisition, evidence: Beliefs | CountedEvidence, lattice: Lattice
) -> Policy:
    """Returns the recommended policy at the prices of a lattice."""
    policy = best_by(acquisition, evidence, lattice)
    table, relied = policy.table, evidence
    if isinstance(evidence, Beliefs) and evidence.untried is not None:
        relied = evidence.as_cautious()  # the means of what was hardly tried may be far too high
    if isinstance(table, PathTable):
        checked: PathTable | SetTable = _checked_path(table, relied)
    else:
        assert isinstance(table, SetTable)
        checked = _checked_set(table, relied)
    return Policy(checked, frequency=policy.frequency).recommended_by(evidence)


def _checked_path(table: PathTable, evidence: Beliefs | CountedEvidence) -> PathTable:
    lattice = table.lattice
    look: Choices = table.look.copy()
    actions: Choices = table.actions.copy()
    if isinstance(evidence, Beliefs):
        look[evidence.probability <= 0] = -1  # there is no evidence for what never occurs
        look, actions = without_idle_looks(lattice, look, actions)
        _stop_where_that_is_better(lattice, look, actions, evidence)

    def now() -> PathTable:
        return PathTable(lattice, look.copy(), actions.copy(), table.values, table.row_of)

    levels = [list(range(lattice.contexts))]
    if isinstance(evidence, CountedEvidence):
        levels = _reached(Policy(now()), evidence)
    for states in reversed(levels):  # what is bought before may depend on it
        policy = Policy(now())
        stops = _where_acting_is_better(policy, states, evidence)
        look[[table.row(state) for state in stops]] = -1
        actions[[table.row(state) for state in stops]] = [policy.act(state) for state in stops]
    return now()


def _reached(policy: Policy, evidence: CountedEvidence) -> list[list[int]]:
    """Returns the states that cases come to, by the number of observations bought before."""
    levels = [list(range(policy.lattice.contexts))]
    while levels[-1]:
        levels.append([])
        for state in levels[-2]:
            for i in policy.looks(state):
                outcomes = evidence.outcome_distribution(state, i)
                if outcomes is not None:
                    children = policy.lattice.children(state, i)
                    some = np.flatnonzero(outcomes.probability > 0).tolist()
                    levels[-1] += [children[x] for x in some]
    return levels


def _stop_where_that_is_better(
    lattice: Lattice, look: Choices, actions: Choices, evidence: Beliefs
) -> None:
    """Acts in every state in which acting has a higher expected gain than buying, in place."""
    from askwise._kernels.policy.gains import gains_by_paths

    every, nothing = np.arange(lattice.size), PathExploration.none(lattice)
    net = lattice.net(evidence.reward)
    acting: Floats = lattice.problem.reward_value * net[every, actions]
    spent = lattice.costs_of(every)
    # a state after which fewer observations are bought may itself gain more
    for _ in range(lattice.m):
        gains = acting.copy()
        untried = nothing.other_look, nothing.look_probability, 0.0
        gains_by_paths(lattice.layout, look, *untried, evidence.probability, spent, gains)
        look[gains < acting] = -1


def _checked_set(table: SetTable, evidence: Beliefs | CountedEvidence) -> SetTable:
    lattice, sets = table.lattice, table.sets.copy()

    def now() -> SetTable:
        return SetTable(lattice, sets, table.actions, table.values, table.row_of)

    if isinstance(evidence, Beliefs):
        for context, subset in enumerate(sets.tolist()):
            context_subset = lattice.context_subset(subset, context)
            first, end = lattice.layout.context_offsets[context_subset : context_subset + 2]
            done = np.unique(table.actions[first:end]).tolist()
            if len(done) == 1 and lattice.allows(context, done[0]):
                sets[context] = 0
    contexts = list(range(lattice.contexts))
    sets[_where_acting_is_better(Policy(now()), contexts, evidence)] = 0
    return now()


def _where_acting_is_better(
    policy: Policy, states: list[int], evidence: Beliefs | CountedEvidence
) -> list[int]:
    """Returns those states in which acting at once has a higher expected gain than the policy."""
    found = []
    for state in states:
        reason = node_of(policy, state, evidence).reason if policy.looks(state) else None
        if reason is None or reason.gain is None or reason.stop is None:
            continue
        if reason.stop.gain is not None and reason.gain < reason.stop.gain:
            found.append(state)
    return found
