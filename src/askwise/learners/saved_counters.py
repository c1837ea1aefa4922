"""How counters, and the memory of a learner that forgets, are kept in its file."""

from __future__ import annotations

import zipfile

import msgspec
import numpy as np

from askwise.amounts import LARGEST_AMOUNT
from askwise.errors import FileError
from askwise.learners.base import BaseLearner
from askwise.learners.memory import Knowledge, Memory
from askwise.learners.saved_policies import Array, load_array
from askwise.statistics import (
    BY_ROW,
    MOST_CASES,
    MOST_PAID,
    PAID_UNIT,
    UNIT,
    Statistics,
)

MOST_PACKED = 200
"""How many times its packed length an array of states, all of them different, may have."""


class SavedMemory(msgspec.Struct, forbid_unknown_fields=True):
    """What a memory is, beside its counters."""

    began: int
    number: int
    first: int
    pasts: list[int]
    """The blocks of which it is kept what was known before them."""
    parts: list[tuple[int, int]]
    """The cases and the rows of what was known before those, and of each block."""


def arrays_of(statistics: Statistics) -> dict[str, Array]:
    """The counters, and which row is whose."""
    arrays: dict[str, Array] = dict(statistics.arrays())
    if statistics.is_sparse:
        arrays["states"] = statistics.states
    return arrays


def restore_counters(
    archive: zipfile.ZipFile, prefix: str, statistics: Statistics, cases: int, rows: int
) -> None:
    """Fill the counters, and see that they can be counters."""
    statistics.cases = cases
    if not statistics.is_sparse and rows != statistics.visited:
        raise FileError(f"the counters have {rows:,} rows, expected {statistics.visited:,}")
    if statistics.is_sparse:
        _check_rows(archive, prefix, statistics, rows)
        states = load_array(archive, f"{prefix}states", (rows,), np.int64)
        _restore_rows(statistics, states)
    for name, array in statistics.arrays():
        array[...] = load_array(archive, f"{prefix}{name}", array.shape, array.dtype)
    for name, array in statistics.arrays():
        if array.size and array.min() < 0:
            raise FileError(f"{name} has a negative count")
        if statistics.is_sparse and name in BY_ROW and array[0].any():
            raise FileError(f"{name} counts something in the row of what was never visited")
    if not 0 <= max(cases, int(statistics.action_counts.max())) <= MOST_CASES:
        raise FileError("more cases than can be counted")
    if (statistics.reward_sums * UNIT > statistics.action_counts).any():
        raise FileError("rewards sum to more than their number")
    paid = statistics.paid_sums * PAID_UNIT
    if (paid > np.minimum(MOST_PAID, statistics.paid_counts * LARGEST_AMOUNT)).any():
        raise FileError("more was paid than can be")


def _check_rows(archive: zipfile.ZipFile, prefix: str, statistics: Statistics, rows: int) -> None:
    """Refuse more rows than there can be; no state is in two of them, so they do not pack well."""
    if not 1 < rows <= statistics.lattice.size + 1:
        raise FileError(f"the counters have {rows:,} rows")
    packed = archive.getinfo(f"{prefix}states.npy").compress_size
    if rows * 8 > MOST_PACKED * packed:
        raise FileError(f"the counters have {rows:,} rows, in {packed:,} bytes: no states are so")


def _restore_rows(statistics: Statistics, states: Array) -> None:
    """Give out the rows again, in their order."""
    known = states[1:]
    if len(known) == 0 or states[0] != -1 or known[0] != 0 or len(np.unique(known)) < len(known):
        raise FileError("the states are not those of a saved learner")
    if known.min() < 0 or known.max() >= statistics.lattice.size:
        raise FileError("a state is not one of the problem's")
    statistics.give_rows(known)


def parts_of(memory: Memory | None) -> list[Knowledge]:
    """All the counters of a memory."""
    return [] if memory is None else [*memory.pasts.values(), *memory.blocks]


def describe_memory(memory: Memory | None) -> SavedMemory | None:
    """What to write beside its counters."""
    if memory is None:
        return None
    parts = [(p.statistics.cases, p.statistics.visited) for p in parts_of(memory)]
    return SavedMemory(memory.began, memory.number, memory.first, list(memory.pasts), parts)


def restore_memory(
    archive: zipfile.ZipFile, learner: BaseLearner, saved: SavedMemory | None
) -> None:
    """Remember again what was remembered."""
    memory = learner.memory
    if (memory is None) != (saved is None):
        raise FileError("it forgets, but there is no memory, or the other way round")
    if memory is None or saved is None:
        return
    blocks = saved.number - saved.first if memory.window is not None else 0
    order = [saved.first, *saved.pasts]
    if saved.first < 0 or order != sorted(set(order)) or order[-1] != saved.number:
        raise FileError("the blocks of the memory are not in order")
    if len(saved.parts) != len(saved.pasts) + blocks:
        raise FileError("the memory has not the blocks it should have")
    parts = []
    for k, (cases, rows) in enumerate(saved.parts):
        statistics = learner.new_counters()
        restore_counters(archive, f"memory{k}.", statistics, cases, rows)
        tallies = {
            name: load_array(archive, f"memory{k}.{name}", array.shape, array.dtype)
            for name, array in learner.tallies().items()
        }
        parts.append(Knowledge(statistics, tallies))
    memory.began, memory.number, memory.first = saved.began, saved.number, saved.first
    memory.pasts = dict(zip(saved.pasts, parts[: len(saved.pasts)], strict=True))
    memory.blocks.extend(parts[len(saved.pasts) :])
