"""A policy in a learner's file: what is written of it, and what is believed of what is read.

A look at what is known already, at more than m, or a node that is not there would lead the kernels
out of their tables: whoever made the file, it is checked before anything follows it.
"""

from __future__ import annotations

import math
import zipfile
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from askwise.counting import MOST_STATES, Statistics
from askwise.errors import FileError
from askwise.learners.acquisition import row_finder
from askwise.learners.base import BaseLearner
from askwise.learners.baselines.random_choice import RandomPolicy
from askwise.planning.trees import children_of
from askwise.policy import Policy, SequentialPolicy, SimultaneousPolicy
from askwise.policy.exploration import Tries, TryingPolicy, empty_tries, with_tries
from askwise.policy.tree_policies import TreePolicy, tree_policy
from askwise.states import Lattice

Array = npt.NDArray[Any]

MOST_NODES = 250_000
MOST_PAIRS = 10_000
"""Of a tree: far more than one for a shortlist has (`estimation/additive.py`)."""

ARRAY_HEADER = 4096
"""Bytes that go before the numbers of an array, at most."""


class SavedPolicy(msgspec.Struct, forbid_unknown_fields=True):
    """What stands of a policy in the header; its tables are arrays of the file."""

    kind: str
    rows: int
    """How long its tables are."""
    dense: bool = False
    """Whether they have a row for every state, though the counters may not."""
    frequency: bool = False
    """Whether it is known how often each context comes."""
    drawn: bool = False
    """Whether it was drawn for one case, as in `learners/baselines/random_choice.py`."""
    tries: bool = False
    """Whether it tries things beside, as in `policy/exploration.py`."""
    pairs: int = 0
    explore: float = 0.0
    """Of a tree: how many pairs it may try, and how often it tries anything."""
    prices: dict[str, float] = {}
    """Those it was made for, where they are not the problem's."""
    on_file: list[int] = []


def own_prices(lattice: Lattice, usual: Lattice) -> tuple[dict[str, float], list[int]]:
    """In what the prices of one lattice are not those of the other, and what is on file."""
    pairs = zip(lattice.observations, usual.observations, strict=True)
    return {a.name: a.cost for a, b in pairs if a.cost != b.cost}, list(lattice.on_file)


def at_prices(lattice: Lattice, prices: dict[str, float], on_file: list[int]) -> Lattice:
    """The lattice whose `own_prices` these are."""
    if not all(0 <= i < lattice.buyable for i in on_file):
        raise FileError(f"something is on file that cannot be: {on_file}")
    return lattice.priced(prices, on_file) if prices or on_file else lattice


def describe(policy: Policy, learner: BaseLearner) -> SavedPolicy:
    """What to write of it in the header."""
    saved = _describe(policy, learner.statistics)
    saved.prices, saved.on_file = own_prices(policy.lattice, learner.lattice)
    return saved


def _describe(policy: Policy, statistics: Statistics) -> SavedPolicy:
    weighed = policy.frequency is not None
    if isinstance(policy, TreePolicy):
        tree = policy.compact
        kind, rows = "simultaneous tree" if tree.blind else "sequential tree", len(tree.look)
        return SavedPolicy(
            kind, rows, frequency=weighed, pairs=len(tree.pairs), explore=tree.explore
        )
    rows = len(policy.actions)
    if policy.is_sparse:
        rows = min(rows, statistics.visited)  # what is beyond was never visited
    kind = "simultaneous" if isinstance(policy, SimultaneousPolicy) else "sequential"
    tries = isinstance(policy, TryingPolicy)
    return SavedPolicy(
        kind,
        rows,
        dense=not policy.is_sparse,
        frequency=weighed,
        drawn=isinstance(policy, RandomPolicy),
        tries=tries,
    )


def tables_of(policy: Policy, rows: int) -> dict[str, Array]:
    """Its tables by name, as far as they are used."""
    tables: dict[str, Array] = {"actions": policy.actions[:rows]}
    if policy.frequency is not None:
        tables["frequency"] = policy.frequency
    if isinstance(policy, TreePolicy):
        tables |= {"look": policy.compact.look, "pairs": policy.compact.pairs}
        return tables | {"values": policy.values}
    if isinstance(policy, SequentialPolicy):
        tables |= {"values": policy.values[:rows], "following": policy.following[:rows]}
    elif isinstance(policy, SimultaneousPolicy):
        tables |= {"values": policy.values, "sets": policy.sets}
    if isinstance(policy, TryingPolicy):
        tables |= policy.tries._asdict()
    return tables


def rebuild(
    archive: zipfile.ZipFile, learner: BaseLearner, prefix: str, saved: SavedPolicy
) -> Policy:
    """The policy that was saved, checked."""
    lattice = at_prices(learner.lattice, saved.prices, saved.on_file)
    frequency = None
    if saved.frequency:
        shape = (learner.lattice.contexts,)
        frequency = load_array(archive, f"{prefix}.frequency", shape, np.float64)
        if not (frequency >= 0).all() or not 0 < frequency.sum() < math.inf:
            raise FileError("how often each context comes is not so")
    if saved.kind in ("sequential tree", "simultaneous tree"):
        return _rebuild_tree(archive, lattice, prefix, saved, frequency)
    policy = _rebuild_plain(archive, learner.statistics, lattice, prefix, saved, frequency)
    return _with_saved_tries(archive, policy, prefix) if saved.tries else policy


def _rebuild_plain(
    archive: zipfile.ZipFile,
    statistics: Statistics,
    lattice: Lattice,
    prefix: str,
    saved: SavedPolicy,
    frequency: Array | None,
) -> Policy:
    rows, row_of = (saved.rows,), None if saved.dense else row_finder(statistics)
    if saved.rows != lattice.size and (row_of is None or not 0 < saved.rows <= statistics.visited):
        raise FileError(f"a policy has {saved.rows} rows")
    if saved.dense and lattice.size > MOST_STATES:
        raise FileError(f"a policy has {saved.rows:,} rows, more than there can be")
    states = np.arange(saved.rows) if saved.dense else statistics.states[: saved.rows]
    actions = load_array(archive, f"{prefix}.actions", rows, np.int16)
    _check_choices("actions", actions, 0, len(lattice.problem.actions))
    if saved.kind == "simultaneous":
        sets = load_array(archive, f"{prefix}.sets", (lattice.contexts,), np.int64)
        _check_choices("sets", sets, 0, lattice.subsets)
        values = load_array(archive, f"{prefix}.values", (lattice.context_subsets,), np.float64)
        simultaneous = RandomPolicy if saved.drawn else SimultaneousPolicy
        return simultaneous(lattice, sets, actions, values, row_of, frequency)
    if saved.kind == "sequential":
        values = load_array(archive, f"{prefix}.values", rows, np.float64)
        following = load_array(archive, f"{prefix}.following", rows, np.int16)
        _check_choices("following", following, -1, lattice.buyable)
        _check_looks(lattice, states, following)
        tables = (following, actions, values)
        return SequentialPolicy(lattice, *tables, row_of, frequency)
    raise FileError(f"unknown kind of policy {saved.kind!r}")


def _rebuild_tree(
    archive: zipfile.ZipFile,
    lattice: Lattice,
    prefix: str,
    saved: SavedPolicy,
    frequency: Array | None,
) -> TreePolicy:
    from askwise._kernels.policy.tree_cases import Tree

    if not (0 < saved.rows <= MOST_NODES and 0 < saved.pairs <= MOST_PAIRS):
        raise FileError(f"a policy has {saved.rows} nodes and {saved.pairs} pairs")
    nodes = (saved.rows,)
    look = load_array(archive, f"{prefix}.look", nodes, np.int16)
    actions = load_array(archive, f"{prefix}.actions", nodes, np.int16)
    values = load_array(archive, f"{prefix}.values", nodes, np.float64)
    pairs = load_array(archive, f"{prefix}.pairs", (saved.pairs, 2), np.int64)
    _check_choices("look", look, -1, len(lattice.observations))
    _check_choices("actions", actions, 0, len(lattice.problem.actions))
    _check_choices("pairs", pairs, 0, lattice.buyable)
    if lattice.buyable > 1 and (pairs[:, 0] >= pairs[:, 1]).any():
        raise FileError("a policy tries what is not a pair")
    if not 0 <= saved.explore <= 1:
        raise FileError(f"a policy tries things in a share of {saved.explore} of the cases")
    blind = saved.kind == "simultaneous tree"
    child = children_of(look, lattice.outcomes)
    _check_tree(lattice, look, child, blind=blind)
    tree = Tree(look, actions, child, pairs, saved.explore, blind)
    return tree_policy(lattice, tree, values, frequency)


def _check_tree(lattice: Lattice, look: Array, child: Array, *, blind: bool) -> None:
    if child.max(initial=0) != len(look) - 1:
        raise FileError("a policy's tree has not as many nodes as it should have")
    known: list[tuple[int, ...]] = [()] * len(look)
    bought, context = [0] * len(look), [0] * len(look)
    sets: dict[tuple[int, int], int] = {}
    for node, i in enumerate(look.tolist()):  # parents come first
        before = known[node]
        if i >= lattice.buyable:
            if i in before or bought[node]:
                raise FileError("a policy asks twice, or too late, for what is given")
        else:
            if i >= 0 and (i in before or bought[node] == lattice.m):
                raise FileError("a policy looks at what is known already, or at more than it may")
            if blind and sets.setdefault((context[node], bought[node]), i) != i:
                raise FileError("a policy that buys a set does not buy the same whatever it shows")
        for after in child[node][child[node] >= 0].tolist():
            known[after] = (*before, i)
            bought[after] = bought[node] + (i < lattice.buyable)
            context[after] = after if i >= lattice.buyable else context[node]


def _with_saved_tries(archive: zipfile.ZipFile, policy: Policy, prefix: str) -> TryingPolicy:
    lattice, sequential = policy.lattice, isinstance(policy, SequentialPolicy)
    if lattice.size > MOST_STATES:
        raise FileError("a policy tries things in more states than there can be")
    like = empty_tries(lattice, one_by_one=sequential)._asdict()
    tries = Tries(
        **{n: load_array(archive, f"{prefix}.{n}", a.shape, a.dtype) for n, a in like.items()}
    )
    if not all(((x >= 0) & (x <= 1)).all() for x in (tries.chance, tries.dare)):  # NaN is not
        raise FileError("a policy's chances are not all from 0 to 1")
    _check_choices("daring", tries.daring, 0, len(lattice.problem.actions))
    if sequential:
        states = np.arange(lattice.size)
        _check_choices("favourite", tries.favourite, -1, lattice.buyable)
        _check_looks(lattice, states, tries.favourite)
        anything = lattice.buyable  # a look at what no state knows
        _check_looks(lattice, states, np.where(tries.chance > 0, anything, -1))
    else:
        _check_choices("favourite", tries.favourite, 0, lattice.subsets)
    return with_tries(policy, tries)


def _check_choices(name: str, choices: Array, low: int, high: int) -> None:
    if choices.min() < low or choices.max() >= high:
        raise FileError(f"a policy's {name} are not all from {low} to {high - 1}")


def _check_looks(lattice: Lattice, states: Array, following: Array) -> None:
    """A look at what is known already, or beyond m, would lead the kernels out of the lattice."""
    subset = np.searchsorted(lattice.layout.offsets, states, side="right") - 1
    known = (lattice.layout.members[subset] == following[:, None]).any(axis=1)
    cannot_look = known | (lattice.layout.sizes[subset] == lattice.m) | (states < 0)
    if ((following >= 0) & cannot_look).any():
        raise FileError("a policy looks at what is known already, or at more than it may")


def load_array(
    archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike
) -> Array:
    """The array of that name, which must have this shape and type."""
    expected = np.dtype(dtype)
    size = math.prod(shape) * expected.itemsize
    if archive.getinfo(f"{name}.npy").file_size > size + ARRAY_HEADER:
        raise FileError(f"{name} unpacks to more than the {size:,} bytes that it should have")
    with archive.open(f"{name}.npy") as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise FileError(f"{name} is in an unknown array format")
        found_shape, _, found = np.lib.format.read_array_header_1_0(file)
        if found_shape != shape or found != expected:
            raise FileError(
                f"{name} is {found} of shape {found_shape}, expected {expected} of shape {shape}"
            )
        content = file.read(size)
        if len(content) != size or file.read(1):
            raise FileError(f"{name} is not as long as it says")
    return np.frombuffer(bytearray(content), expected).reshape(shape)
