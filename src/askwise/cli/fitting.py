"""`askwise fit`: from a log to a policy, to what observations are worth, and to a learner."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from askwise._support.documents import replace_file
from askwise.cli.app import check_folder, command, say
from askwise.cli.columns import (
    Acquired,
    Done,
    Files,
    Labelled,
    Ordered,
    Rewarded,
    Staked,
    columns_of_rewards,
)
from askwise.cli.explaining import Deep, Share, check_page
from askwise.cli.options import options_of
from askwise.cli.words import in_words_of_the_command_line
from askwise.errors import OptionError
from askwise.explain import explain
from askwise.explain.explanation import Explanation, notes_of
from askwise.learners import LEARNERS, BaseLearner, Learner
from askwise.learners.registry import learner_class
from askwise.logs import Fit, draft, fit
from askwise.problem import Problem


@command(
    "fit",
    "askwise fit cases.csv --guess-problem --label best --output problem.yaml",
    "askwise fit cases.csv --problem problem.yaml --label best --html page.html",
    "askwise fit cases.csv --problem problem.yaml --reward wait=well --reward treat=cured",
    "askwise fit 'logs/*.parquet' --problem problem.yaml --action done --reward earned "
    "--acquisition sequential --order looks --save start.askwise",
    "askwise fit old.csv --problem problem.yaml --label best --weight 0.3 "
    "--option budget=2.5 --save start.askwise",
)
def fit_command(
    log: Files,
    problem: Annotated[Path | None, typer.Option(help="The problem, as .yaml or .json.")] = None,
    label: Labelled = None,
    reward: Rewarded = None,
    action: Done = None,
    acquisition: Acquired = None,
    order: Ordered = None,
    propensity: Annotated[
        str | None, typer.Option(help="The column of probabilities, to be checked.")
    ] = None,
    stake: Staked = None,
    learner: Annotated[str | None, typer.Option(help=f"One of: {', '.join(LEARNERS)}.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="An option of the learner, as name=value.")
    ] = None,
    weight: Annotated[
        float, typer.Option(help="The part of the log that counts, of an old log.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the learner.")] = 0,
    save: Annotated[Path | None, typer.Option(help="Where to save the learner.")] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write what each observation is worth as one page.")
    ] = None,
    max_depth: Deep = None,
    min_share: Share = 0.0,
    guess_problem: Annotated[
        bool, typer.Option("--guess-problem", help="Draft a problem file from the log instead.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(help="Where to write the draft; else it is printed.")
    ] = None,
) -> None:
    """Count a log: what can be learned from it, what to buy and do, and what one may pay."""
    columns: dict[str, Any] = {"label": label, "action": action, "stake": stake}
    columns |= {**columns_of_rewards(action, reward), "order": order, "propensity": propensity}
    if guess_problem:
        fitted = {"problem": problem, "acquisition": acquisition, "learner": learner}
        _check_draft({**fitted, "option": option, "save": save, "html": html})
        _guess(log, columns, output)
        return
    if problem is None:
        raise OptionError("--problem FILE is missing; --guess-problem drafts one from the log")
    if output is not None:
        raise OptionError("--output goes with --guess-problem; to save the learner, use --save")
    check_folder("--save", save)
    check_page(html)
    columns["acquisition"] = acquisition
    found = fit(log, Problem.load(problem), rng=seed, **columns)
    kind = learner_class(Learner.name if learner is None else learner)
    start = found.learner(learner, weight=weight, **options_of(kind, option))
    explanation = _shown(found, start, max_depth, min_share)
    if html is not None:
        explanation.save(html)
        say(f"\nwritten to {html}")
    if save is not None:
        start.save(save)
        say(f"\nsaved as {save}{_other_stakes(save, found.stake)}")


def _shown(found: Fit, start: BaseLearner, max_depth: int | None, min_share: float) -> Explanation:
    """Says what the log shows, what to buy and do, and what one may pay. Returns all of it."""
    chosen = "" if found.acquisition is None else f", {found.acquisition}"
    say(f"{found.rows:,} {found.kind}{chosen}\n")
    policy = start.recommend(stake=found.stake)
    notes = [*found.notes, *found.notes_on(policy), *notes_of(start, policy)]
    for note in notes:
        say(f"- {in_words_of_the_command_line(note)}")
    explanation = explain(
        start, stake=found.stake, notes=notes, max_depth=max_depth, min_share=min_share
    )
    say(f"\nWhat to buy and do:\n\n{explanation.tree_with_sum()}")
    say(f"\nWhat one may pay:\n\n{explanation.worth.below_tree()}")
    return explanation


def _other_stakes(save: Path, stake: float) -> str:
    """How to ask a saved learner for the recommendation that was shown, if its stake is not 1."""
    if stake == 1.0:
        return ""
    return (
        "\nWithout a stake, the saved learner recommends for a stake of 1. Ask for another: "
        f"askwise explain {save} --stake {stake:g}, or in Python "
        f"load({str(save)!r}).recommend(stake={stake:g})"
    )


def _check_draft(fitted: dict[str, Any]) -> None:
    """Raises an error if an option was given that only a fit has."""
    for name, given in fitted.items():
        if given:
            raise OptionError(
                f"--{name} goes with a fit, and --guess-problem only drafts: leave out one of them"
            )


def _guess(log: list[str], columns: dict[str, Any], output: Path | None) -> None:
    check_folder("--output", output)
    if output is not None and output.suffix.lower() not in (".yaml", ".yml"):
        raise OptionError(f"--output {output}: expected a name ending in .yaml or .yml")
    if output is not None and output.exists():
        raise OptionError(f"--output {output}: this file exists: remove it, or name another")
    drafted = draft(log, **columns)
    text = drafted.text()
    if output is None:
        say(text.rstrip("\n"))
        return
    replace_file(output, text.encode())
    say(f"drafted {output}: give every observation its cost, then fit with --problem {output}")
    for name, why in drafted.left_out.items():
        say(f"left out: {name} {why}")
    for remark in drafted.remarks:
        say(f"check: {remark}")
