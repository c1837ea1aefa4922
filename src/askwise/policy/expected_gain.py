"""The expected gain of a policy, including its exploration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askwise._support.sums import dot
from askwise._support.typing import Choices, Floats, Integers
from askwise.policy.exploration import PathExploration, SetExploration
from askwise.policy.policy import Policy
from askwise.policy.tables import PathTable, SetTable, Table


def expected_gain(policy: Policy, probability: Floats, reward: Floats, part: float = 1.0) -> float:
    """Returns the gain by p(ψ) and r(a, ψ) at [ψ, a], less the costs of actions.

    It is exact if the estimates average out. `part` multiplies every probability of exploring.
    """
    if policy.mixture is not None:
        both = policy.parts
        return sum(share * expected_gain(one, probability, reward, part) for share, one in both)
    lattice, table = policy.lattice, policy.table
    every = np.arange(lattice.size)
    exploration = _tries(policy)
    reward = lattice.net(reward)
    gains: Floats = reward[every, table.actions]
    if part:
        other = part * exploration.action_probability
        action = exploration.other_action
        if lattice.action_offsets is not None:  # what is never explored may not be allowed
            action = np.where(other > 0, action, table.actions)
        gains += other * (reward[every, action] - gains)
    gains *= lattice.problem.reward_value
    return _from_acting(table, exploration, part, probability, gains)


def _from_acting(
    table: Table,
    exploration: PathExploration | SetExploration,
    part: float,
    probability: Floats,
    gains: Floats,
) -> float:
    """Returns the mean gain of cases, from the gain of acting in each state."""
    lattice = table.lattice
    spent = lattice.state_costs
    if isinstance(exploration, PathExploration):
        assert isinstance(table, PathTable)
        _by_paths(table, exploration, part, probability, spent, gains)
        found = gains[: lattice.contexts]
    else:
        assert isinstance(table, SetTable)
        found = _by_sets(table, exploration, part, probability, gains - spent)
    return dot(probability[: lattice.contexts], found)


def _by_paths(
    table: PathTable,
    exploration: PathExploration,
    part: float,
    probability: Floats,
    spent: Floats,
    gains: Floats,
) -> None:
    from askwise._kernels.policy.gains import gains_by_paths

    other = exploration.other_look, exploration.look_probability, part
    gains_by_paths(table.lattice.layout, table.look, *other, probability, spent, gains)


def _by_sets(
    table: SetTable, exploration: SetExploration, part: float, probability: Floats, gain: Floats
) -> Floats:
    """Returns the mean gain of cases in each context, over the sets that they buy."""
    lattice, contexts = table.lattice, table.lattice.contexts
    came = np.maximum(probability[:contexts], 1e-300)
    first = lattice.layout.context_offsets[:-1]
    worth = np.add.reduceat(probability * gain, first).reshape(lattice.subsets, contexts) / came
    every = np.arange(contexts)
    anything = worth if not lattice.has_requirements else worth[lattice.open_subsets]
    trying = 0.5 * (worth[exploration.other_set, every] + anything.mean(axis=0))
    usual: Floats = worth[table.sets, every]
    found: Floats = usual + part * exploration.set_probability * (trying - usual)
    return found


def expected_spend(policy: Policy, probability: Floats) -> float:
    """Returns the mean spend of a case on observations by p(ψ), including exploration."""
    return sum(
        -share * _from_acting(one.table, _tries(one), 1.0, probability, np.zeros(one.lattice.size))
        for share, one in policy.parts
    )


def _tries(policy: Policy) -> PathExploration | SetExploration:
    """Returns the policy's exploration, or one with all probabilities 0."""
    if policy.exploration is None:
        kind = PathExploration if isinstance(policy.table, PathTable) else SetExploration
        return kind.none(policy.lattice)
    assert isinstance(policy.exploration, PathExploration | SetExploration)
    return policy.exploration


class ActedStates(NamedTuple):
    """The states in which the cases of a policy without exploration act, for any population."""

    states: Integers
    actions: Choices
    costs: Floats
    """The costs of these actions."""

    def gain(self, probability: Floats, reward: Floats, beta: float, spent: Floats) -> float:
        """Returns Σ p(ψ) (β r(a, ψ) − cost(a) − c(ψ)), where c(ψ) was spent on observations in
        ψ.
        """
        earned = beta * reward[self.states, self.actions] - self.costs - spent[self.states]
        return dot(probability[self.states], earned)


def acted_states(policy: Policy) -> ActedStates:
    """Returns the states in which a policy acts, and its actions there."""
    lattice, table = policy.lattice, policy.table
    if isinstance(table, PathTable):
        from askwise._kernels.policy.gains import reach_by_paths

        reached = np.empty(lattice.size, np.bool_)
        reach_by_paths(lattice.layout, table.look, reached)
        states = np.flatnonzero(reached & (table.look < 0))
    else:
        assert isinstance(table, SetTable)
        offsets = lattice.layout.context_offsets
        bought = [lattice.context_subset(s, g) for g, s in enumerate(table.sets.tolist())]
        states = np.concatenate([np.arange(*offsets[part : part + 2]) for part in bought])
    actions = table.actions[states]
    return ActedStates(states, actions, lattice.action_costs[actions])
