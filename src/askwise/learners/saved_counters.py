"""The counters of a learner, and the blocks it remembers, in its file."""

from __future__ import annotations

import math
import zipfile

import msgspec
import numpy as np

from askwise._support.arrays import Array, load_array
from askwise.counting import (
    BY_ROW,
    MOST_CASES,
    MOST_PAID,
    PAID_UNIT,
    UNIT,
    Statistics,
)
from askwise.counting.forgetting import Forgetting, Knowledge
from askwise.errors import FileError
from askwise.estimation.complete_records import MOST_RECORDS, CompleteRecords, Log
from askwise.learners.rounds import Rounds
from askwise.learners.strategy import Strategy
from askwise.problem.amounts import LARGEST_AMOUNT

MOST_PACKED = 200
"""The most times its packed length that an array of different states may have."""


class SavedForgetting(msgspec.Struct, forbid_unknown_fields=True):
    """The blocks that are remembered, beside their counters."""

    began: int
    number: int
    first: int
    pasts: list[int]
    """The blocks at whose start the counters were kept."""
    parts: list[tuple[int, int]]
    """The cases and the rows of these counters, and of each block."""
    records: list[int] = []
    """The number of complete records among those cases."""


def arrays_of(statistics: Statistics) -> dict[str, Array]:
    """The counters, and the state of each row."""
    arrays: dict[str, Array] = dict(statistics.arrays())
    if statistics.is_sparse:
        arrays["states"] = statistics.states
    return arrays


NEWER = ("graded_sums", "overruled", "unasked")
"""Format 6 did not count these. It is read as if all rewards were 0 or 1, and people followed the
advice.
"""

KINDS = "case_kinds"
"""Format 8 did not count cases by stake and price. It is read as if they had the usual ones."""

EXPECTED = "expected_rewards"
"""Format 9 did not keep the rewards that the joint model expects. They are found again."""


def restore_strategy(archive: zipfile.ZipFile, strategy: Strategy, *, version: int) -> None:
    """Restores the arrays that a strategy keeps beside the statistics."""
    arrays = strategy.arrays()
    for name, array in arrays.items():
        stored = "world" if version < 8 and name == "explored_world" else name  # it was the same
        is_newer = version <= 9 and name == EXPECTED
        is_newer |= version <= 8 and name in (KINDS, "rates_mixed", "spend_control")
        if not is_newer:
            array[...] = load_array(archive, stored, array.shape, array.dtype)
    if version <= 8 and "rates_mixed" in arrays:  # there was one rate
        arrays["rates_mixed"][:2] = arrays["shadow_price"]


def restore_counters(
    archive: zipfile.ZipFile,
    prefix: str,
    statistics: Statistics,
    cases: int,
    rows: int,
    *,
    version: int,
) -> None:
    """Fills the counters, and checks them."""
    statistics.cases = cases
    if not statistics.is_sparse and rows != statistics.visited:
        raise FileError(f"the counters have {rows:,} rows, expected {statistics.visited:,}")
    if statistics.is_sparse:
        _check_rows(archive, prefix, statistics, rows)
        states = load_array(archive, f"{prefix}states", (rows,), np.int64)
        _restore_rows(statistics, states)
    for name, array in statistics.arrays():
        if version > 6 or name not in NEWER:
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
    if (statistics.graded_sums > statistics.reward_sums).any():
        raise FileError("the squares of rewards have a sum below 0")
    paid = statistics.paid_sums * PAID_UNIT
    if (paid > np.minimum(MOST_PAID, statistics.paid_counts * LARGEST_AMOUNT)).any():
        raise FileError("more was paid than can be")


def _check_rows(archive: zipfile.ZipFile, prefix: str, statistics: Statistics, rows: int) -> None:
    """Refuses too many rows. No state is in two of them, so they cannot be packed much."""
    if not 1 < rows <= statistics.lattice.size + 1:
        raise FileError(f"the counters have {rows:,} rows")
    packed = archive.getinfo(f"{prefix}states.npy").compress_size
    if rows * 8 > MOST_PACKED * packed:
        raise FileError(f"the counters have {rows:,} rows, in {packed:,} bytes: no states are so")


def restore_records(statistics: Statistics, records: int | None, *, forgets: bool) -> None:
    """Restores the number of complete records, which older files do not have.

    It is then derived from rewards that only such records have, unless some were forgotten.
    """
    if records is None:
        whole = statistics.action_counts.sum() > statistics.cases and not forgets
        records = statistics.cases if whole else 0
    if not 0 <= records <= statistics.cases:
        raise FileError(f"{records} of {statistics.cases} cases are complete records")
    statistics.records = records


def arrays_of_log(log: Log) -> dict[str, Array]:
    """The complete records that a learner keeps."""
    if log.records is None:
        return {}
    return {f"records.{name}": array for name, array in log.records._asdict().items()}


def restore_log(
    archive: zipfile.ZipFile,
    rounds: Rounds,
    cases: int,
    records: int,
    drawn: tuple[float, int, float],
    *,
    version: int,
) -> None:
    """Restores the log, and checks it.

    `drawn` has its weight, the number of cases that it was drawn from, and their mean stake.
    """
    if not (0 < drawn[0] <= 1 and (drawn[1] == 0 or cases <= drawn[1] < 2**63)):
        raise FileError(f"a log of {cases} cases that were drawn from {drawn[1]}")
    if not 0 < drawn[2] < math.inf:
        raise FileError(f"a log of cases with a mean stake of {drawn[2]}")
    if not 0 <= records <= MOST_RECORDS or cases < 0:
        raise FileError(f"a log of {cases} cases and {records} different complete records")
    if not cases:
        return
    kept = None
    if records:
        lattice = rounds.now.lattice
        shape = (records, len(lattice.observations))
        of_actions = (records, len(lattice.problem.actions))
        kept = CompleteRecords(
            load_array(archive, "records.digits", shape, np.int16),
            load_array(archive, "records.counts", (records,), np.int64),
            load_array(archive, "records.units", of_actions, np.int64),
            load_array(archive, "records.graded", of_actions, np.int64)
            if version > 6
            else np.zeros(of_actions, np.int64),
        )
        if kept.digits.min() < 0 or (kept.digits >= lattice.outcomes).any():
            raise FileError("a complete record has a value that there is not")
        earned = kept.units * UNIT
        if (
            kept.counts.min() < 1
            or min(earned.min(), kept.graded.min()) < 0
            or (earned > kept.counts[:, None]).any()
            or (kept.graded > kept.units).any()
        ):
            raise FileError("complete records earned what cannot be")
    rounds.strategy.begin_with(Log(cases, kept, *drawn))


def _restore_rows(statistics: Statistics, states: Array) -> None:
    """Assigns the rows again, in their order."""
    known = states[1:]
    if len(known) == 0 or states[0] != -1 or known[0] != 0 or len(np.unique(known)) < len(known):
        raise FileError("the states are not those of a saved learner")
    if known.min() < 0 or known.max() >= statistics.lattice.size:
        raise FileError("a state is not one of the problem's")
    statistics.give_rows(known)


def parts_of(forgetting: Forgetting | None) -> list[Knowledge]:
    """All counters that the learner keeps."""
    return [] if forgetting is None else [*forgetting.pasts.values(), *forgetting.blocks]


def describe_forgetting(forgetting: Forgetting | None) -> SavedForgetting | None:
    """Describes what is written beside its counters."""
    if forgetting is None:
        return None
    parts = [(p.statistics.cases, p.statistics.visited) for p in parts_of(forgetting)]
    records = [p.statistics.records for p in parts_of(forgetting)]
    numbers = (forgetting.began, forgetting.number, forgetting.first)
    return SavedForgetting(*numbers, list(forgetting.pasts), parts, records)


def restore_forgetting(
    archive: zipfile.ZipFile, rounds: Rounds, saved: SavedForgetting | None, *, version: int
) -> None:
    """Restores the blocks that were remembered."""
    forgetting = rounds.forgetting
    if (forgetting is None) != (saved is None):
        raise FileError("it forgets, but there is nothing to forget, or the other way round")
    if forgetting is None or saved is None:
        return
    blocks = saved.number - saved.first if forgetting.window is not None else 0
    order = [saved.first, *saved.pasts]
    if saved.first < 0 or order != sorted(set(order)) or order[-1] != saved.number:
        raise FileError("the blocks of what is remembered are not in order")
    if len(saved.parts) != len(saved.pasts) + blocks:
        raise FileError("not the blocks are remembered that should be")
    parts = []
    for k, (cases, rows) in enumerate(saved.parts):
        statistics = rounds.new_counters()
        restore_counters(archive, f"block{k}.", statistics, cases, rows, version=version)
        counted = saved.records[k] if k < len(saved.records) else 0
        restore_records(statistics, counted, forgets=True)
        tallies = {
            name: load_array(archive, f"block{k}.{name}", array.shape, array.dtype)
            for name, array in rounds.strategy.tallies().items()
            if version > 8 or name != KINDS
        }
        if version <= 8 and KINDS in rounds.strategy.tallies():
            tallies[KINDS] = np.zeros_like(rounds.strategy.tallies()[KINDS])
        parts.append(Knowledge(statistics, tallies))
    forgetting.began, forgetting.number, forgetting.first = saved.began, saved.number, saved.first
    forgetting.pasts = dict(zip(saved.pasts, parts[: len(saved.pasts)], strict=True))
    forgetting.blocks.extend(parts[len(saved.pasts) :])
