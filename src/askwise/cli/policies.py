"""`askwise evaluate`, `compare` and `frontier`: what policies gain, by a log or by estimates.

A policy is read from its own file, or from that of a learner, which recommends one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from askwise._support.extras import need
from askwise._support.numbers import shown
from askwise.cli.app import command, say
from askwise.cli.columns import (
    Acquired,
    Confident,
    Done,
    Earned,
    Files,
    Labelled,
    Likely,
    Ordered,
    Rewarded,
    Staked,
    columns_of_rewards,
)
from askwise.errors import FileError, OptionError
from askwise.learners import BaseLearner
from askwise.logs import compare, load, off_policy
from askwise.logs.off_policy import OffPolicyValue
from askwise.logs.policy_rows import COMPLETE
from askwise.logs.reading import kind_of
from askwise.policy import Policy, oracle
from askwise.policy.rules import table_of_rule
from askwise.policy.scores import Score
from askwise.problem.stakes import for_stake
from askwise.states import Lattice

FIGURES = (".svg", ".png", ".pdf")

AtStake = Annotated[
    float | None,
    typer.Option(help="The stake for which a saved learner recommends. Default: 1."),
]


def policy_in(path: str, stake: float | None) -> Policy:
    """The policy of a file: the saved one, or what the saved learner recommends at a stake."""
    found = load(path)
    if isinstance(found, BaseLearner):
        return found.recommend(stake=1.0 if stake is None else stake)
    if not isinstance(found, Policy):
        raise FileError(f"{path}: it holds a trial, expected a learner or a policy")
    if stake is not None and stake != found.lattice.stake:
        at = for_stake(found.lattice.stake) or "for a stake of 1"
        raise OptionError(
            f"--at-stake {stake:g}: {path} holds a policy {at}, which plans for no other"
        )
    return found


def _other_policy(given: str, lattice: Lattice, stake: float | None) -> Policy:
    """A saved policy or learner, or the rule that always takes one action, at the same stake."""
    problem = lattice.problem
    if not Path(given).exists() and given in problem.action_names:
        return Policy(table_of_rule(lattice, lambda known: given))
    if not Path(given).exists():
        actions = ", ".join(problem.action_names)
        raise OptionError(f"--against {given}: there is no such file, nor action: {actions}")
    return policy_in(given, stake)


@command(
    "evaluate",
    "askwise evaluate later.csv --policy start.askwise --label best",
    "askwise evaluate later.csv --policy start.askwise --reward wait=well --reward treat=cured",
    "askwise evaluate log.csv --policy start.askwise --action done --reward earned "
    "--propensity chance",
    "askwise evaluate 'later/*.parquet' --policy start.askwise --acquisition sequential "
    "--order looks --confidence 0.9",
    "askwise evaluate log.csv --policy start.askwise --stake amount --at-stake 20",
)
def evaluate(
    log: Files,
    policy: Annotated[
        str, typer.Option(help="A saved learner, whose recommendation is evaluated; or a policy.")
    ],
    label: Labelled = None,
    reward: Rewarded = None,
    action: Done = None,
    propensity: Likely = None,
    acquisition: Acquired = None,
    order: Ordered = None,
    stake: Staked = None,
    at_stake: AtStake = None,
    confidence: Confident = 0.95,
) -> None:
    """Estimate the gain of a policy on complete records kept aside, or on logged decisions."""
    chosen = policy_in(policy, at_stake)
    earned = columns_of_rewards(action, reward)
    decided: dict[str, Any] = {
        "action": action,
        "propensity": propensity,
        "acquisition": acquisition,
        "order": order,
    }
    found: Score | OffPolicyValue
    if label is not None or "rewards" in earned:
        _check_complete(label, earned.get("reward"), decided)
    columns = {"label": label, "stake": stake, **earned, **decided}
    if kind_of(log, chosen.problem, **columns) == "complete records":
        rewards = earned.get("rewards")
        found = chosen.evaluate(
            log, label=label, rewards=rewards, stake=stake, confidence=confidence
        )
        has_intervals = True  # those of few rows say so themselves
    else:
        found = off_policy(chosen, log, stake=stake, confidence=confidence, **earned, **decided)
        has_intervals = found.has_intervals
    _say(chosen, found, at_stake, f", with the interval of {confidence:.0%}" * has_intervals)


def _check_complete(label: str | None, reward: str | None, decided: dict[str, Any]) -> None:
    """Raises an error if columns of both kinds of logs are named."""
    said = "label=" if label is not None else "rewards={action: column}"
    for name, given in {"reward": reward, **decided}.items():
        if given is not None:
            raise OptionError(
                f"--{name} {given} is for logged decisions, but {said} makes these complete "
                "records: leave out one of them"
            )


def _say(
    chosen: Policy, found: Score | OffPolicyValue, at_stake: float | None, intervals: str
) -> None:
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


@command(
    "compare",
    "askwise compare log.csv --policy new.askwise --against today.askwise",
    "askwise compare log.csv --policy new.askwise --against review --stake amount --at-stake 20",
    "askwise compare 'later/*.parquet' --policy new.askwise --against today.askwise "
    "--acquisition sequential --order looks --propensity chance",
)
def compare_command(
    log: Files,
    policy: Annotated[str, typer.Option(help="A saved learner, or a saved policy.")],
    against: Annotated[
        str,
        typer.Option(help="Another one, such as a saved rule; or an action, always to be taken."),
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
    """Say which of two policies is better by a log, and whether that is settled."""
    if "rewards" in columns_of_rewards(action, [] if reward is None else [reward]):
        raise OptionError(COMPLETE)
    first = policy_in(policy, at_stake)
    second = _other_policy(against, first.lattice, at_stake)
    names = (Path(policy).stem, Path(against).stem)
    found = compare(
        first,
        second,
        log=log,
        action=action,
        reward=reward,
        propensity=propensity,
        order=order,
        acquisition=acquisition,
        stake=stake,
        confidence=confidence,
        names=names if names[0] != names[1] else (policy, against),
    )
    if at := for_stake(first.lattice.stake, "recommended "):
        say(f"{at}\n")
    say(str(found))


@command(
    "frontier",
    "askwise frontier clinic.askwise",
    "askwise frontier clinic.askwise --figure frontier.svg --stake 20",
)
def frontier_command(
    saved: Annotated[Path, typer.Argument(help="A saved learner, or what `askwise fit` saved.")],
    stake: Annotated[float, typer.Option(help="How many times the reward of a case counts.")] = 1.0,
    figure: Annotated[
        Path | None, typer.Option(help="Draw it: a file that ends in .svg, .png or .pdf.")
    ] = None,
) -> None:
    """The highest gain at every average spend, by what a learner estimates."""
    if figure is not None and figure.suffix.lower() not in FIGURES:
        raise OptionError(f"--figure {figure}: expected a name that ends in .svg, .png or .pdf")
    learner = load(saved)
    if not isinstance(learner, BaseLearner):
        raise FileError(f"{saved}: expected a learner, whose estimates the frontier needs")
    found = oracle.frontier(
        learner.evidence(), acquisition=learner.recommend().acquisition, stake=stake
    )
    said = "By the mean of what it estimates, as if that were sure"
    say(f"{said}{for_stake(stake, ', ')}:\n\n{found}")
    if figure is not None:
        pyplot = need("matplotlib.pyplot", "report")
        drawn, axes = pyplot.subplots()
        found.plot(ax=axes)
        drawn.savefig(figure)
        pyplot.close(drawn)
        say(f"\nwritten to {figure}")
