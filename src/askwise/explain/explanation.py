"""An explanation is the tree of a policy and the worth of observations, as text and as one page."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from askwise._support.documents import replace_file
from askwise._support.numbers import as_price, shown
from askwise._support.pages import page, safe
from askwise.errors import OptionError
from askwise.estimation.evidence import Beliefs, CountedEvidence
from askwise.estimation.models import Model
from askwise.explain.observation_worth import DemandBand, DemandStep, ObservationWorth
from askwise.explain.worth import EvidenceSource, Worth, worth
from askwise.explain.worth_rows import shown_row
from askwise.learners.learner import BaseLearner, rounds_of
from askwise.policy import Policy
from askwise.policy.trees import Act, Node, Reason, Tree
from askwise.policy.trees.figures import Figures, share
from askwise.problem import Problem
from askwise.problem.rewards import range_words

WIDE, HIGH = 220.0, 44.0
"""The size of the small picture of a demand."""
WIDE_DIGIT = 6.5
"""The width of a digit in this picture."""


@runtime_checkable
class SourceWithNotes(Protocol):
    """A fitted log, which has notes on its evidence and on what a policy rests on."""

    notes: tuple[str, ...]

    def notes_on(self, policy: Policy) -> tuple[str, ...]:
        """Returns notes on a policy."""


class Explanation:
    """The recommended policy and the worth of each observation, by the current estimates.

    `print` it, or `save` it as a page that needs nothing else.
    """

    def __init__(
        self,
        worth: Worth,
        *,
        title: str,
        notes: Sequence[str] = (),
        max_depth: int | None = None,
        min_share: float = 0.0,
    ) -> None:
        self.title = title
        self.worth = worth
        self.notes = tuple(notes)
        """The notes on its evidence."""
        self.tree: Tree = worth.policy.tree(max_depth=max_depth, min_share=min_share)
        self._whole = self.tree if max_depth is None and not min_share else worth.policy.tree()
        costs = [row.price for row in worth]
        self.figures = Figures.of(worth.problem.reward_value, costs)

    @property
    def gain(self) -> float:
        """The gain of a case, as at the root of the tree."""
        reason = self.tree.root.reason
        return self.worth.gain if reason is None or reason.gain is None else reason.gain

    @property
    def spend(self) -> float:
        """The spend of a case on observations, without the costs of actions."""
        leaves = acts_with_reasons(self._whole.root)
        return sum(reason.share * (reason.spent - act.cost) for act, reason in leaves)

    def __str__(self) -> str:
        lines = [f"{self.title}\n", f"{self.tree_with_sum()}\n", self.worth.below_tree()]
        if self.notes:
            lines.append("\n" + "\n".join(f"- {note}" for note in self.notes))
        return "\n".join(lines)

    def tree_with_sum(self) -> str:
        """Returns the tree as text. If no line of it is for all cases, one more line is."""
        root = self.tree.root
        if isinstance(root, Act) or root.bought:
            return str(self.tree)
        spent, policy, of = self.figures.amount(self.spend), self.worth.policy, ""
        if policy.shadow_price is not None:  # a budget is for all stakes, this only for one
            of = f" with a stake of {shown(policy.lattice.stake)}"
        gain = self._gain_words()
        return f"{self.tree}\n\nAll cases{of}: gain {gain}, spent {spent} on observations."

    def __repr__(self) -> str:
        return f"<Explanation of {len(self.worth)} observations, gain {shown(self.gain)}>"

    def _repr_html_(self) -> str:
        return f"{self.tree.html()}<pre>{escape(self.worth.below_tree())}</pre>"

    def html(self) -> str:
        """Returns the explanation as one HTML page that loads nothing else."""
        rows = [self._row(row) for row in self.worth.by_break_even()]
        return page(
            "explanation",
            title=self.title,
            picture=safe(self.tree.svg()),
            unfolding=safe(self.tree.html()),
            tiles=self._tiles(),
            rows=rows,
            notes=[*self.worth.remarks(), *self.notes],
            is_known=self.worth.is_known,
            has_band=any(row["has_band"] for row in rows),
            rewards=_reward_words(self.worth.problem),
            acquisition=self.worth.acquisition,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page of `html` to a file, .html or .htm, which is replaced as a whole."""
        check_is_page(path)
        replace_file(Path(path), self.html().encode())

    def _tiles(self) -> list[tuple[str, str]]:
        figures, blind = self.figures, self.worth.blind_gain
        tiles = [
            (self._gain_words(), "gain of a case, after all that was paid"),
            (figures.amount(self.spend), "spent on observations in a case"),
        ]
        if blind is not None:
            tiles.append((figures.plain_gain(blind), "gain of a case if nothing were bought"))
        price = self.worth.policy.shadow_price
        if price is not None:
            tiles.append((shown(price, decimals=2), "what one more to spend on a case would add"))
        learn = self.worth.still_to_learn
        if learn is not None and not self.worth.is_known:
            budget = self.worth.beside_budget
            words = f"still to learn{budget}: what perfect knowledge would add a case"
            tiles.append((figures.estimate(*learn), words))
        return tiles

    def _gain_words(self) -> str:
        reason = self.tree.root.reason
        return self.figures.plain_gain(self.gain) if reason is None else self.figures.gained(reason)

    def _row(self, row: ObservationWorth) -> dict[str, Any]:
        steps, band = self.worth.demand(row.name), self.worth.demand_band(row.name)
        return {
            "cells": shown_row(row, self.figures),
            "pays": row.break_even > row.price,
            "has_band": bool(band),
            "demand": safe(demand_picture(steps, row.price, row.fees, band)) if steps else "",
        }


def explain(
    source: Model | EvidenceSource | Beliefs | CountedEvidence,
    *,
    acquisition: str | None = None,
    stake: float | None = None,
    title: str = "Which information is worth its price?",
    notes: Sequence[str] | None = None,
    max_depth: int | None = None,
    min_share: float = 0.0,
) -> Explanation:
    """Returns the tree and the worth of observations for a population, a learner or a fitted log.

    A fitted log has its own notes on its evidence, unless others are given. `stake` is as in
    `worth`. `max_depth` and `min_share` fold a large tree, as in `policy.tree`.
    """
    found = worth(source, acquisition=acquisition, stake=stake)
    said = notes_of(source, found.policy) if notes is None else notes
    return Explanation(found, title=title, notes=said, max_depth=max_depth, min_share=min_share)


def check_is_page(path: str | os.PathLike[str]) -> None:
    """Raises an error if a file does not have the name of a page."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise OptionError(
            f"an explanation is saved as a page, .html or .htm, got {str(Path(path).name)!r}"
        )


def notes_of(source: object, policy: Policy) -> Sequence[str]:
    """Returns the notes of a fitted log on its evidence and on what it recommends, or how much the
    log weighs that a learner began with.
    """
    if isinstance(source, BaseLearner):
        log = rounds_of(source).strategy.log
        return [f"The log that it began with weighs {log.words}."] if log.drawn_from else []
    if not isinstance(source, SourceWithNotes):
        return ()
    return (*source.notes, *source.notes_on(policy))


def _reward_words(problem: Problem) -> str:
    """Returns the words on rewards, for the end of a sentence."""
    if problem.rewards is None:
        return f"a reward of 1 is worth {as_price(problem.reward_value)}"
    return f"an action earns {range_words(problem.rewards)}"


def acts_with_reasons(node: Node) -> Iterator[tuple[Act, Reason]]:
    """Yields each leaf with its evidence."""
    if isinstance(node, Act):
        if node.reason is not None:
            yield node, node.reason
        return
    for _, child in node.branches:
        yield from acts_with_reasons(child)


def demand_picture(
    steps: Sequence[DemandStep],
    today: float,
    fees: float = 0.0,
    band: Sequence[DemandBand] = (),
) -> str:
    """Draws the share of the cases that buy as the price rises, with a line at today's price.

    Behind the steps is the interval of the share, if the share is an estimate. The prices include
    the fees of panels.
    """
    finite = [step.price for step in steps]
    end = max(1.15 * max(*finite, today), *(one.price for one in band), 1e-9)
    right, low = WIDE - 2, HIGH - 12

    def across(price: float) -> float:
        return 2 + price / end * (right - 2)

    def up(part: float) -> float:
        return low - part * (low - 4)

    x, y = [across(step.price) for step in steps], [up(step.bought) for step in steps]
    outline = f"M2 {low:.1f} L2 {y[0]:.1f}"
    for k in range(1, len(steps)):
        outline += f" H{x[k]:.1f} V{y[k]:.1f}"
    outline += f" H{right:.1f}"
    area = f"{outline} V{low:.1f} Z"
    if band:
        edge = [(across(one.price), up(one.high)) for one in band]
        edge += [(across(one.price), up(one.low)) for one in reversed(band)]
        area = "M" + " L".join(f"{a:.1f} {b:.1f}" for a, b in edge) + " Z"
    now = across(today)
    begins = shown(fees)
    begin = f'<text x="2" y="{HIGH - 1:.0f}">{begins}</text>'
    if now < 2 + WIDE_DIGIT * (len(begins) + 1):  # it would be printed over today's price
        begin = ""
    words = "never bought, not even if free"
    if steps[0].bought > 0:
        words = f"bought in {share(steps[0].bought)} of the cases if free"
    words += f", never from {shown(finite[-1] + fees)} on" if finite[-1] > 0 else ""
    return (
        f'<svg class="demand" viewBox="0 0 {WIDE:.0f} {HIGH:.0f}" role="img" '
        f'aria-label="{escape(words)}"><path class="area" d="{area}"/>'
        f'<path class="steps" d="{outline}"/>'
        f'<path class="today" d="M{now:.1f} 2 V{low + 3:.1f}"/>'
        f"{begin}"
        f'<text x="{min(now, right - 40):.1f}" y="{HIGH - 1:.0f}" class="now">'
        f"{as_price(today + fees)}</text>"
        f'<text x="{right:.1f}" y="{HIGH - 1:.0f}" text-anchor="end">'
        f"{shown(end + fees)}</text></svg>"
    )
