"""`askwise simulate` and `askwise learners`: try learners on your own problem."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from askwise import learners
from askwise._support.numbers import together
from askwise._support.typing import Floats
from askwise.cli.app import command, name_value_pairs, plain_grid, say
from askwise.cli.options import options_of
from askwise.cli.tables import read_table
from askwise.errors import OptionError
from askwise.learners import LEARNERS
from askwise.learners.registry import learner_class
from askwise.problem import Problem
from askwise.problem.amounts import check_stake
from askwise.simulation import Run, simulate
from askwise.simulation.environments import Environment, Population, Staked, model_at_random
from askwise.simulation.environments.staked import always


@command(
    "simulate",
    "askwise simulate --problem clinic.yaml --steps 20000",
    "askwise simulate --problem clinic.yaml --table patients.csv --reward wait=well "
    "--reward treat=cured --save clinic.askwise",
    "askwise simulate --problem clinic.yaml --learner seq-oos --option width=0.5",
    "askwise simulate --problem desk.yaml --option budget=0.3 --stake 20",
)
def simulate_command(
    problem: Annotated[Path, typer.Option(help="The problem, as .yaml or .json.")],
    learner: Annotated[str, typer.Option(help=f"One of: {', '.join(LEARNERS)}.")] = (
        learners.Learner.name
    ),
    option: Annotated[
        list[str] | None, typer.Option(help="An option of the learner, as name=value.")
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(help="A CSV of complete cases: a column an observation, a column an action."),
    ] = None,
    reward: Annotated[
        list[str] | None,
        typer.Option(help="The reward column of an action, as action=column; default: its name."),
    ] = None,
    model_seed: Annotated[
        int, typer.Option(min=0, help="Without a table: the seed of a random population.")
    ] = 0,
    stake: Annotated[
        str | None,
        typer.Option(help="How many times the reward of a case counts, or the column of that."),
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="How many cases.")] = 100_000,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the run.")] = 0,
    save: Annotated[Path | None, typer.Option(help="Where to save what was learned.")] = None,
) -> None:
    """Let a learner decide many cases of your own problem, and show what it learned."""
    loaded = Problem.load(problem)
    chosen = learners.make(learner, loaded, options_of(learner_class(learner), option), rng=seed)
    if save is not None and not save.parent.is_dir():
        raise OptionError(f"--save {save}: there is no folder {save.parent}: create it")
    if reward and table is None:
        raise OptionError("--reward names columns of a table: give one with --table")
    number = _number(stake)
    if stake is not None and number is None and table is None:
        raise OptionError(f"--stake {stake}: expected a number, or with --table a column")
    if table is None:
        source: Environment = Population(model_at_random(np.random.default_rng(model_seed), loaded))
    else:
        column = stake if number is None else None
        source = read_table(loaded, table, dict(name_value_pairs("--reward", reward)), column)
    if number is not None:
        source = Staked(source, always(check_stake(number, loaded.reward_value)))
    _show(simulate(chosen, source, steps=steps, rng=seed))
    if isinstance(chosen, learners.Learner):
        say(f"by {chosen!r}")
    at = 1.0 if number is None else number
    say("\nWhat it recommends:\n")
    say(str(chosen.recommend(stake=at).tree()))
    if save is not None:
        chosen.save(save)
        say(f"\nsaved as {save}")


@command("learners", "askwise learners")
def learners_command() -> None:
    """List the learners that can be simulated, fitted and served."""
    grid = plain_grid()
    grid.add_column("name", style="bold", no_wrap=True)
    grid.add_column("what it is")
    for name, kind in learners.LEARNERS.items():
        about = inspect.getdoc(kind) or ""
        grid.add_row(name, " ".join(about.partition("\n\n")[0].split()))
    Console().print(grid)


def _number(text: str | None) -> float | None:
    """The number that a text is; None if it is none, such as the name of a column."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _columns(run: Run) -> dict[str, Floats]:
    """Gain, reward and spend of each case, by title. A budget is for observations alone."""
    reward = "mean reward" if run.stakes is None else "mean reward per unit of stake"
    acting = run.lattice.action_costs[run.action]
    if not run.lattice.action_costs.any():
        return {"mean gain": run.gain, reward: run.reward, "mean spend": run.cost}
    observing = "mean spend on observations"
    return {
        "mean gain": run.gain,
        reward: run.reward,
        observing: run.cost - acting,
        "mean cost of actions": acting,
    }


def _show(run: Run) -> None:
    """A table of gain, reward and spend, early and late, and of what was bought."""
    tenth = max(1, len(run) // 10)
    parts = [("first tenth", slice(tenth)), ("last tenth", slice(-tenth, None))]
    parts.append(("all", slice(None)))
    grid = plain_grid()
    grid.add_column("")
    for name, _ in parts:
        grid.add_column(name, justify="right")
    rows = _columns(run)
    for title, column in rows.items():
        means = [float(column[part].mean()) for _, part in parts]
        grid.add_row(title, *together(means, decimals=3))
    bought = [run.bought(part) for _, part in parts]
    for name in bought[0]:
        grid.add_row(f"buys {name}", *(f"{share[name]:.0%}" for share in bought))
    Console().print(grid)
    say(f"\n{len(run):,} cases")
