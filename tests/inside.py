"""What tests reach into: what drives a learner, plans in full, policies from bare tables."""

from askwise.learners.learner import rounds_of
from askwise.policy import PathTable, Policy, SetTable
from askwise.policy.tree_table import TreeExploration, TreeTable


def now_of(learner):
    """How far a learner is: its counters, its rounds, its generator."""
    return rounds_of(learner).now


def strategy_of(learner):
    return rounds_of(learner).strategy


def full_plan(learner):
    """The optimistic plan, worked out from nothing but the counters."""
    now = now_of(learner)
    return strategy_of(learner).full_plan(now, now.lattice)


def path_policy(lattice, look, actions, values):
    return Policy(PathTable(lattice, look, actions, values))


def set_policy(lattice, sets, actions, values):
    return Policy(SetTable(lattice, sets, actions, values))


def tree_policy(lattice, tree, values):
    """The policy of a tree as kernels take it."""
    acquisition = "simultaneous" if tree.is_set else "sequential"
    table = TreeTable(lattice, tree.look, tree.action, tree.child, values, acquisition=acquisition)
    return Policy(table, TreeExploration(tree.sets, tree.acts, tree.replacing, tree.beside))


def bought(at_once):
    """The name of the acquisition."""
    return "simultaneous" if at_once else "sequential"
