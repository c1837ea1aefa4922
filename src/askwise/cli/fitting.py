"""`askwise fit` and `askwise evaluate`: from a log to a policy, and to an estimate of its gain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from askwise._support.documents import replace_file
from askwise._support.numbers import shown
from askwise.cli.app import command, name_value_pairs, say
from askwise.cli.columns import (
    Acquired,
    Confident,
    Done,
    Earned,
    Files,
    Likely,
    Ordered,
    Staked,
)
from askwise.cli.explaining import Deep, Share
from askwise.cli.options import options_of
from askwise.cli.policies import AtStake, policy_in
from askwise.cli.words import in_words_of_the_command_line
from askwise.errors import OptionError
from askwise.explain import explain
from askwise.explain.explanation import Explanation, notes_of
from askwise.learners import LEARNERS, BaseLearner, Learner
from askwise.learners.registry import learner_class
from askwise.logs import Fit, draft, fit, off_policy
from askwise.problem import Problem

Labelled = Annotated[str | None, typer.Option(help="The column that names the right action.")]
Rewarded = Annotated[
    list[str] | None,
    typer.Option(
        help="The reward column of an action, as action=column, once for each; "
        "or, with --action, the column of the reward."
    ),
]


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
    columns |= _rewards(action, reward)
    if guess_problem:
        _guess(log, columns, output)
        return
    if problem is None:
        raise OptionError("--problem FILE is missing; --guess-problem drafts one from the log")
    if output is not None:
        raise OptionError("--output goes with --guess-problem; to save the learner, use --save")
    if save is not None and not save.parent.is_dir():
        raise OptionError(f"--save {save}: there is no folder {save.parent}: create it")
    columns |= {"acquisition": acquisition, "order": order, "propensity": propensity}
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
    notes = [*found.notes, *notes_of(start)]
    for note in notes:
        say(f"- {in_words_of_the_command_line(note)}")
    explanation = explain(
        start, stake=found.stake, notes=notes, max_depth=max_depth, min_share=min_share
    )
    at = found.for_stake(", ")
    say(f"\nWhat to buy and do{at}:\n\n{explanation.tree}")
    say(f"\nWhat one may pay{at}:\n\n{explanation.worth}")
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


def _rewards(action: str | None, reward: list[str] | None) -> dict[str, Any]:
    """The columns of rewards: one for logged decisions, one for each action in complete records."""
    if action is None and any("=" in text for text in reward or []):
        return {"rewards": dict(name_value_pairs("--reward", reward))}
    if len(reward or []) > 1:
        raise OptionError(
            f"--reward is given {len(reward or [])} times: name one column of logged decisions, or "
            "ACTION=COLUMN for each action of complete records"
        )
    return {"reward": reward[0] if reward else None}


def _guess(log: list[str], columns: dict[str, Any], output: Path | None) -> None:
    drafted = draft(log, **columns)
    text = drafted.text()
    if output is None:
        say(text.rstrip("\n"))
        return
    if output.suffix.lower() not in (".yaml", ".yml"):
        raise OptionError(f"--output {output}: expected a name ending in .yaml or .yml")
    if output.exists():
        raise OptionError(f"--output {output}: this file exists: remove it, or name another")
    replace_file(output, text.encode())
    say(f"drafted {output}: give every observation its cost, then fit with --problem {output}")
    for name, why in drafted.left_out.items():
        say(f"left out: {name} {why}")
    for remark in drafted.remarks:
        say(f"check: {remark}")


@command(
    "evaluate",
    "askwise evaluate log.csv --policy start.askwise --action done --reward earned "
    "--propensity chance",
    "askwise evaluate 'logs/*.parquet' --policy start.askwise --acquisition sequential "
    "--order looks --confidence 0.9",
    "askwise evaluate log.csv --policy start.askwise --stake amount --at-stake 20",
)
def evaluate(
    log: Files,
    policy: Annotated[
        str, typer.Option(help="A saved learner, whose recommendation is evaluated; or a policy.")
    ],
    action: Done = None,
    reward: Earned = None,
    propensity: Likely = None,
    acquisition: Acquired = None,
    order: Ordered = None,
    stake: Staked = None,
    at_stake: AtStake = None,
    confidence: Confident = 0.95,
) -> None:
    """Estimate what a policy would have gained on logged decisions."""
    chosen = policy_in(policy, at_stake)
    found = off_policy(
        chosen,
        log,
        action=action,
        reward=reward,
        propensity=propensity,
        acquisition=acquisition,
        order=order,
        stake=stake,
        confidence=confidence,
    )
    intervals = f", with the interval of {confidence:.0%}" if found.has_intervals else ""
    at = chosen.lattice.stake
    if at != 1.0 or found.stake != at or found.has_own_stakes:
        say(f"what it does in cases with a stake of {shown(at)}:\n")
    say(f"{chosen.tree()}\n\ngain for each case{intervals}:\n")
    say(str(found))
    if found.stake != at and at_stake is None:
        say(
            f"\nIn the log it does what is best at a stake of {shown(at)}, whatever the stake of a "
            f"row. --at-stake {found.stake:.4g}, their mean, evaluates what a learner recommends "
            "for that."
        )
