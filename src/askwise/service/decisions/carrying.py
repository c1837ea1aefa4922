"""The counters of a project are transferred to another version of its problem.

Counters are by state, and a state is a value for some observations. As long as the observations are
the same, every state of the old problem is one of the new, and its counts stay valid. New values
and actions have no counts. The payments for an observation are transferred if its price is the
same.
"""

from __future__ import annotations

import numpy as np

from askwise.counting import BY_ROW, Statistics
from askwise.errors import OptionError, StatisticsError
from askwise.learners.learner import BaseLearner, rounds_of
from askwise.problem import Problem
from askwise.service.api.served_learners import new_learner
from askwise.states import Lattice


def carried_over(learner: BaseLearner, problem: Problem, seed: int) -> BaseLearner:
    """The learner with another version of its problem: itself, if only prices are others."""
    old = learner.problem
    _check_version(old, problem)
    prices = {o.name: o.cost for o in problem.observations}
    changed = {o.name: prices[o.name] for o in old.observations if o.cost != prices[o.name]}
    if old.priced(changed) == problem:
        if changed:
            learner.reprice(changed)
        return learner
    rounds = rounds_of(learner)
    new = new_learner(problem, learner.name, learner.options, seed)
    if rounds.strategy.tallies() or rounds.strategy.log.records is not None:
        what = "what this learner knows beside counters of states"
        if "spending" in rounds.strategy.tallies():
            what = "budget: what was spent of it, and by which cases,"
        raise StatisticsError(
            f"{what} cannot be carried over to other values, actions or rules: change prices "
            "only, or create a new project, which begins without this knowledge"
        )
    statistics = _in_other_states(learner.statistics, rounds_of(new).now.lattice)
    rounds_of(new).now.count_opened(rounds.now.opened)
    new.merge(statistics)
    return new


def _check_version(old: Problem, new: Problem) -> None:
    """Refuse what is another problem, and say what is other."""
    if [o.name for o in old.observations] != [o.name for o in new.observations]:
        names = ", ".join(o.name for o in old.observations)
        raise OptionError(f"a version of the problem has the same observations: {names}")
    for before, after in zip(old.observations, new.observations, strict=True):
        what = f"observation {before.name!r}"
        if (before.given, before.fails, before.edges, before.other) != (
            after.given,
            after.fails,
            after.edges,
            after.other,
        ):
            raise OptionError(f"{what}: given, fails, edges and other must stay as they are")
        if before.given and before.values != after.values:
            raise OptionError(f"{what} is given: its values must stay as they are")
        missing = [value for value in before.values if value not in after.values]
        if missing:
            raise OptionError(f"{what}: the value {missing[0]!r} was counted and must stay")
    gone = [name for name in old.action_names if name not in new.action_names]
    if gone:
        raise OptionError(f"the action {gone[0]!r} was counted and must stay")
    if (old.m, old.reward_value, old.rewards) != (new.m, new.reward_value, new.rewards):
        raise OptionError("max_observations, reward_value and rewards must stay as they are")


def _in_other_states(counted: Statistics, lattice: Lattice) -> Statistics:
    """The same counters at the states of another lattice, which has them all."""
    old, found = counted.lattice, Statistics(lattice, sparse=counted.is_sparse)
    states = counted.states[counted.states >= 0]
    rows = counted.rows_of(states)
    used = np.zeros(len(states), bool)
    for name in BY_ROW:
        part = getattr(counted, name)[rows]
        used |= part.any(axis=1) if part.ndim == 2 else part != 0
    states, rows = states[used], rows[used]
    others = np.array([lattice.index(old.state(int(s))) for s in states], np.int64)
    found.give_rows(others)
    there = found.rows_of(others)
    actions = np.array([lattice.action(name) for name in old.problem.action_names], np.int64)
    found.visits[there] = counted.visits[rows]
    found.transitions[there] = counted.transitions[rows]
    for name in ("action_counts", "reward_sums", "graded_sums"):
        getattr(found, name)[np.ix_(there, actions)] = getattr(counted, name)[rows]
    found.subset_visits[...] = counted.subset_visits
    found.overrides.overruled[actions] = counted.overrides.overruled
    found.overrides.unasked[...] = counted.overrides.unasked
    found.cases, found.records = counted.cases, counted.records
    same = [
        i for i in range(old.buyable) if old.observations[i].cost == lattice.observations[i].cost
    ]
    found.paid_counts[same] = counted.paid_counts[same]
    found.paid_sums[same] = counted.paid_sums[same]
    return found
