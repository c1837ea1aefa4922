"""`askwise worth` and `askwise explain`: what to buy, up to what price, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from askwise.cli.app import check_folder, command, say
from askwise.cli.words import in_words_of_the_command_line
from askwise.explain import explain, worth
from askwise.explain.explanation import check_is_page
from askwise.learners import load
from askwise.learners.learner import BaseLearner, rounds_of

Saved = Annotated[Path, typer.Argument(help="A saved learner, or what `askwise fit` saved.")]


Staked = Annotated[float, typer.Option(help="How many times the reward of a case counts.")]
Deep = Annotated[
    int | None, typer.Option(min=1, help="Leave out what is bought after so many looks.")
]
Share = Annotated[
    float,
    typer.Option(
        min=0.0, max=1.0, help="Leave out what is bought by less than this part of all cases."
    ),
]


@command("worth", "askwise worth clinic.askwise", "askwise worth clinic.askwise --stake 20")
def worth_command(saved: Saved, stake: Staked = 1.0) -> None:
    """How often each observation is bought, what it adds, and what one may pay for it."""
    say(in_words_of_the_command_line(str(worth(load(saved), stake=stake))))


@command(
    "explain",
    "askwise explain clinic.askwise",
    "askwise explain clinic.askwise --html tests.html --title 'Which tests to order'",
    "askwise explain clinic.askwise --max-depth 2 --min-share 0.01",
    "askwise explain clinic.askwise --stake 20",
)
def explain_command(
    saved: Saved,
    stake: Staked = 1.0,
    html: Annotated[
        Path | None, typer.Option(help="Write it as one page that needs no other file.")
    ] = None,
    title: Annotated[
        str, typer.Option(help="Of the page.")
    ] = "Which information is worth its price?",
    max_depth: Deep = None,
    min_share: Share = 0.0,
) -> None:
    """What to buy and do, and what each observation is worth."""
    check_page(html)
    learner = load(saved)
    notes = [f"Learned from {_learned_from(learner)} by {learner.name}."]
    explanation = explain(
        learner, stake=stake, title=title, notes=notes, max_depth=max_depth, min_share=min_share
    )
    say(in_words_of_the_command_line(str(explanation)))
    if html is not None:
        explanation.save(html)
        say(f"\nwritten to {html}")


def check_page(html: Path | None) -> None:
    """Raises an error if a page could not be written, before anything is computed or printed."""
    if html is not None:
        check_is_page(html)
    check_folder("--html", html)


def _learned_from(learner: BaseLearner) -> str:
    """How many cases the learner had, and how many of them came from a log."""
    cases, log = learner.statistics.cases, rounds_of(learner).strategy.log
    if not log.cases:
        return f"{cases:,} cases"
    own = cases - (log.cases if log.records is None else 0)  # logged decisions count as cases
    return f"{log.words} and {own:,} cases" if own else log.words
