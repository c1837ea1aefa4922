"""A policy is saved as a header and arrays; each part converts itself.

An invalid policy would lead the kernels out of their tables: one that buys a known observation,
buys more than m, or has a node that does not exist. Files may come from anywhere, so every part
checks what it reads.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from askwise._support.arrays import Array
from askwise.counting import Statistics
from askwise.errors import FileError
from askwise.policy.exploration import Exploration, PathExploration, SetExploration, UniformDraw
from askwise.policy.listed_tables import ListedPaths, ListedSets
from askwise.policy.mixing import Mixture
from askwise.policy.policy import Policy
from askwise.policy.tables import PathTable, ReadArray, SetTable, Table
from askwise.policy.tree_table import TreeExploration, TreeTable
from askwise.problem.amounts import check_stake
from askwise.states import Lattice

TABLES: dict[str, type[Table]] = {
    kind.kind: kind for kind in (SetTable, PathTable, TreeTable, ListedSets, ListedPaths)
}
EXPLORATIONS: dict[str, tuple[type[Exploration], type[Table]]] = {
    PathExploration.kind: (PathExploration, PathTable),
    SetExploration.kind: (SetExploration, SetTable),
    UniformDraw.kind: (UniformDraw, SetTable),
    TreeExploration.kind: (TreeExploration, TreeTable),
}
"""The explorations that fit to each table."""


class SavedPart(msgspec.Struct, forbid_unknown_fields=True):
    """A table or an exploration: its kind, and what it needs besides its arrays."""

    kind: str
    header: dict[str, Any]


class SavedPolicy(msgspec.Struct, forbid_unknown_fields=True):
    """The header of a policy in a file. Its tables are arrays of the file."""

    table: SavedPart
    exploration: SavedPart | None = None
    frequency: bool = False
    """Whether the probabilities of the contexts are known."""
    prices: dict[str, float] = {}
    """The prices that it was made for, if they are not the problem's."""
    on_file: list[int] = []
    stake: float = 1.0
    mixed: list[tuple[float, SavedPolicy]] = []
    """The policies that shares of the cases follow instead, with these shares."""


def describe(policy: Policy, usual: Lattice, statistics: Statistics | None) -> SavedPolicy:
    """Returns the header. `usual` has the prices that most policies have.

    Without counters, the tables must be those of a policy on its own (`policy_files.py`).
    """
    exploration = policy.exploration
    prices, on_file = own_prices(policy.lattice, usual)
    mixture = policy.mixture
    return SavedPolicy(
        table=SavedPart(policy.table.kind, policy.table.header(statistics)),
        exploration=None
        if exploration is None
        else SavedPart(exploration.kind, exploration.header()),
        frequency=policy.frequency is not None,
        prices=prices,
        on_file=on_file,
        stake=policy.lattice.stake,
        mixed=[
            (share, describe(other, usual, statistics))
            for share, other in (() if mixture is None else mixture.others)
        ],
    )


def arrays_of(policy: Policy, saved: SavedPolicy) -> dict[str, Array]:
    """Returns its arrays by name, without unused rows."""
    arrays = policy.table.arrays(saved.table.header)
    if policy.exploration is not None:
        arrays |= policy.exploration.arrays()
    if policy.frequency is not None:
        arrays["frequency"] = policy.frequency
    if policy.mixture is not None:
        pairs = zip(policy.mixture.others, saved.mixed, strict=True)
        for k, ((_, other), (_, described)) in enumerate(pairs):
            others = arrays_of(other, described)
            arrays |= {f"mixed{k}.{name}": array for name, array in others.items()}
    return arrays


def restored(
    saved: SavedPolicy, read: ReadArray, usual: Lattice, statistics: Statistics | None
) -> Policy:
    """Returns the saved policy. An invalid one raises a `FileError`."""
    lattice = at_prices(usual, saved.prices, saved.on_file)
    if saved.stake != 1.0:
        lattice = lattice.at_stake(check_stake(saved.stake, usual.problem.reward_value))
    if saved.table.kind not in TABLES:
        raise FileError(f"unknown kind of policy {saved.table.kind!r}")
    header = saved.table.header
    table = TABLES[saved.table.kind].restored(header, read, lattice, statistics)
    exploration = None
    if saved.exploration is not None:
        kind, of = EXPLORATIONS.get(saved.exploration.kind, (None, None))
        if kind is None or of is None or not isinstance(table, of):
            raise FileError(f"a policy cannot explore {saved.exploration.kind!r}")
        exploration = kind.restored(saved.exploration.header, read, table)
    frequency = None
    if saved.frequency:
        frequency = read("frequency", (lattice.contexts,), np.float64)
        if not (frequency >= 0).all() or not 0 < frequency.sum() < math.inf:
            raise FileError("how often each context comes is not so")
    mixture = _restored_mixture(saved, read, table, usual, statistics)
    return Policy(table, exploration, frequency=frequency, mixture=mixture)


def _restored_mixture(
    saved: SavedPolicy, read: ReadArray, table: Table, usual: Lattice, statistics: Statistics | None
) -> Mixture | None:
    """Returns the policies that are mixed into a policy with this table."""
    if not saved.mixed:
        return None
    shares = [share for share, _ in saved.mixed]
    is_nested = any(described.mixed for _, described in saved.mixed)
    if is_nested or not (min(shares) >= 0 and sum(shares) <= 1 + 1e-9):  # NaN is neither
        raise FileError("a policy is mixed with what cannot be")
    others = []
    for k, (share, described) in enumerate(saved.mixed):

        def read_mixed(name: str, shape: tuple[int, ...], dtype: Any, k: int = k) -> Array:
            return read(f"mixed{k}.{name}", shape, dtype)

        other = restored(described, read_mixed, usual, statistics)
        if other.acquisition != table.acquisition or other.lattice.size != table.lattice.size:
            raise FileError("a policy is mixed with one of another kind")
        others.append((share, other))
    return Mixture(tuple(others))


def own_prices(lattice: Lattice, usual: Lattice) -> tuple[dict[str, float], list[int]]:
    """Returns the prices of one lattice that differ from those of another, and what is on file."""
    pairs = zip(lattice.observations, usual.observations, strict=True)
    return {a.name: a.cost for a, b in pairs if a.cost != b.cost}, list(lattice.on_file)


def at_prices(lattice: Lattice, prices: dict[str, float], on_file: list[int]) -> Lattice:
    """Returns the lattice with these `own_prices`."""
    if not all(0 <= i < lattice.buyable for i in on_file):
        raise FileError(f"something is on file that cannot be: {on_file}")
    return lattice.priced(prices, on_file) if prices or on_file else lattice
