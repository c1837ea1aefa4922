"""`askwise worth` and `askwise explain`: what to buy, up to what price, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from askwise.cli.app import command, say
from askwise.explain import explain, worth
from askwise.learners import load

Saved = Annotated[Path, typer.Argument(help="A saved learner, or what `askwise fit` saved.")]


@command("worth", "askwise worth clinic.askwise")
def worth_command(saved: Saved) -> None:
    """How often each observation is bought, what it adds, and what one may pay for it."""
    say(str(worth(load(saved))))


@command(
    "explain",
    "askwise explain clinic.askwise",
    "askwise explain clinic.askwise --html tests.html --title 'Which tests to order'",
    "askwise explain clinic.askwise --max-depth 2 --min-share 0.01",
)
def explain_command(
    saved: Saved,
    html: Annotated[
        Path | None, typer.Option(help="Write it as one page that needs no other file.")
    ] = None,
    title: Annotated[
        str, typer.Option(help="Of the page.")
    ] = "Which information is worth its price?",
    max_depth: Annotated[
        int | None, typer.Option(min=1, help="Leave out what is bought after so many looks.")
    ] = None,
    min_share: Annotated[
        float, typer.Option(help="Leave out what is bought by less than this part of all cases.")
    ] = 0.0,
) -> None:
    """What to buy and do, and what each observation is worth."""
    learner = load(saved)
    notes = [f"Learned from {learner.statistics.cases:,} cases by {learner.name}."]
    explanation = explain(
        learner, title=title, notes=notes, max_depth=max_depth, min_share=min_share
    )
    say(str(explanation))
    if html is not None:
        explanation.save(html)
        say(f"\nwritten to {html}")
