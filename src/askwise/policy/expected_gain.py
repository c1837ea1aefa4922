"""What a policy that tries things is expected to gain, its tries included."""

from __future__ import annotations

import numpy as np

from askwise._support.typing import Floats
from askwise.policy.exploration import PathExploration, SetExploration
from askwise.policy.policy import Policy
from askwise.policy.tables import PathTable, SetTable
from askwise.states import Lattice


def expected_gain(policy: Policy, probability: Floats, reward: Floats) -> float:
    """By p(ψ) and r(a, ψ) at [ψ, a]; exact, if they average out."""
    lattice, table, exploration = policy.lattice, policy.table, policy.exploration
    every = np.arange(lattice.size)
    if exploration is None:
        kind = PathExploration if isinstance(table, PathTable) else SetExploration
        exploration = kind.none(lattice)
    assert isinstance(exploration, PathExploration | SetExploration)
    other = exploration.action_probability
    acting = (1 - other) * reward[every, table.actions]
    acting += other * reward[every, exploration.other_action]
    acting *= lattice.problem.reward_value
    spent = lattice.costs_of(every)
    if isinstance(exploration, PathExploration):
        assert isinstance(table, PathTable)
        worth = _by_paths(table, exploration, probability, acting, spent)
    else:
        assert isinstance(table, SetTable)
        worth = _by_sets(table, exploration, probability, acting - spent)
    return float(probability[: lattice.contexts] @ worth)


def _by_paths(
    table: PathTable,
    exploration: PathExploration,
    probability: Floats,
    acting: Floats,
    spent: Floats,
) -> Floats:
    """From the largest states down: what cases gain from each state on."""
    lattice = table.lattice
    worth = acting.copy()
    for subset in reversed(range(lattice.subsets)):
        members, states = lattice.members(subset), lattice.states(subset)
        if len(members) == lattice.m:
            continue
        here = slice(states.start, states.stop)
        looks = {
            i: _after(lattice, subset, i, probability, worth, spent)
            for i in range(lattice.buyable)
            if i not in members
        }
        any_one: Floats = np.mean(list(looks.values()), axis=0)
        trying, following = any_one.copy(), table.look[here]
        stops = following < 0
        for i, after in looks.items():
            likes = exploration.other_look[here] == i
            trying[likes] = 0.5 * (after + any_one)[likes]
        chance = exploration.look_probability[here]
        worth[here][stops] = ((1 - chance) * acting[here] + chance * trying)[stops]
        for i, after in looks.items():
            worth[here][following == i] = after[following == i]
    return worth[: lattice.contexts]


def _after(
    lattice: Lattice, subset: int, i: int, probability: Floats, worth: Floats, spent: Floats
) -> Floats:
    """What is gained, in each state of a subset, by looking at i."""
    states = lattice.states(subset)
    here, below = slice(states.start, states.stop), lattice.children_of_subset(subset, i)
    part = probability[below] / np.maximum(probability[here], 1e-300)[:, None]
    cost = spent[below] - spent[here][:, None]
    gained: Floats = (part * (worth[below] - cost)).sum(axis=1)
    return gained


def _by_sets(
    table: SetTable, exploration: SetExploration, probability: Floats, gain: Floats
) -> Floats:
    """What cases gain in each context, whatever set they buy."""
    lattice, contexts = table.lattice, table.lattice.contexts
    came = np.maximum(probability[:contexts], 1e-300)
    worth = np.empty((lattice.subsets, contexts))
    for subset in range(lattice.subsets):
        states = lattice.states(subset)
        here = slice(states.start, states.stop)
        total = (probability[here] * gain[here]).reshape(contexts, -1).sum(axis=1)
        worth[subset] = total / came
    every = np.arange(contexts)
    trying = 0.5 * (worth[exploration.other_set, every] + worth.mean(axis=0))
    usual: Floats = worth[table.sets, every]
    found: Floats = (1 - exploration.set_probability) * usual + exploration.set_probability * trying
    return found
