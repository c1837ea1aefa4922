"""New prices of a project, which are an event of the kind `prices`.

As in the library's `reprice`, amounts paid before say nothing about a new price. So `paid_counts`
and `paid_sums` of the repriced observations go back to 0. `repriced` counts how often that was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from askwise.learners.learner import BaseLearner, rounds_of
from askwise.problem import Problem
from askwise.service.ledger.counters import ERASED, REPRICED
from askwise.service.ledger.rows import Increment, Snapshot
from askwise.service.replanning.memory import AT, Blocks, Memory

PRICES = "prices"
"""The kind of the event that sets new prices."""

PAID = ("paid_counts", "paid_sums")


def paid_kinds(blocks: Blocks | None, memory: Memory, opened: int) -> list[str]:
    """The kinds of counters of the amounts paid, of all blocks that are remembered."""
    kinds = list(PAID)
    if blocks is not None:
        known = range(memory.first, blocks.current(opened) + 1)
        kept = {blocks.kept_with(block, memory) for block in known}
        kinds = [f"{name}{AT}{block}" for name in PAID for block in kept if block is not None]
    return sorted([*kinds, *(f"{ERASED} {kind}" for kind in kinds)])


def price_increments(
    positions: Sequence[int],
    kinds: Iterable[str],
    values: Callable[[str], Mapping[tuple[int, int], int]],
) -> list[Increment]:
    """Returns what new prices of these observations add to the counters.

    `values` returns the counters of a kind.
    """
    found = [Increment(REPRICED, i, 0, 1) for i in positions]
    for kind in kinds:
        counted = values(kind)
        found += [Increment(kind, i, 0, -counted[i, 0]) for i in positions if counted.get((i, 0))]
    return found


def follow_prices(
    learner: BaseLearner, start: BaseLearner | None, now: Snapshot, declared: Problem
) -> None:
    """Makes a learner, whose counters are filled, plan with the prices that were declared last.

    If amounts paid were reported since, they give the price. `start` is the learner whose counters
    were added to this learner's; the amounts paid in it are removed for the repriced observations.
    """
    repriced = [row.cell for row in now.counters if row.kind == REPRICED and row.amount]
    if not repriced:
        return
    rounds = rounds_of(learner)
    if start is not None:
        for i in repriced:
            for name in PAID:
                counted = getattr(rounds_of(start).now.statistics, name)
                getattr(rounds.now.statistics, name)[i] -= counted[i]
    lattice = rounds.now.lattice
    costs = {o.name: o.cost for o in declared.observations}
    names = [lattice.observations[i].name for i in repriced]
    unpaid = [
        name
        for i, name in zip(repriced, names, strict=True)
        if not rounds.now.statistics.paid_counts[i]
    ]
    rounds.reprice({name: costs[name] for name in unpaid})
