"""The command line: each command calls one library function."""

from __future__ import annotations

import csv
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import numpy as np
import typer
from rich.console import Console
from rich.table import Table as Grid

from askwise import __version__, experiments, learners
from askwise.environments import Environment, Population, Table, model_at_random
from askwise.errors import AskwiseError, OptionError
from askwise.experiments.reproduce import SEEDS, STEPS
from askwise.learners import LEARNERS
from askwise.problem import Observation, Problem
from askwise.simulation import Run, simulate

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Learn which information is worth its price, and what to do with the answer.",
)


def main() -> None:
    """The entry point: what askwise raises on purpose is one line, not a traceback."""
    try:
        app()
    except (AskwiseError, OSError) as error:
        _fail(str(error))


def _version(value: bool) -> None:
    if value:
        typer.echo(f"askwise {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None: ...


@app.command()
def reproduce(
    output: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="50,000 cases, 3 seeds.")] = False,
    seeds: Annotated[int | None, typer.Option(min=1, help="Seeds for each price.")] = None,
    steps: Annotated[int | None, typer.Option(min=10, help="Cases for each seed.")] = None,
    backend: Annotated[str, typer.Option(help="threads, processes, dask or ray.")] = "threads",
    address: Annotated[str | None, typer.Option(help="Of a Dask or Ray cluster.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="How many at a time.")] = None,
) -> None:
    """Reproduce the paper's experiment as one page with its figures and tables.

    Interrupted, it goes on where it was when started again with the same options.
    """
    from askwise.reports import write_reproduction

    output.mkdir(parents=True, exist_ok=True)
    result = experiments.reproduce(
        seeds=seeds or (3 if quick else SEEDS),
        steps=steps or (50_000 if quick else STEPS),
        keep=output / "cells.jsonl",
        backend=backend,
        address=address,
        workers=workers,
    )
    write_reproduction(result, output)
    _summarise(result)
    decisions = sum(cell.steps for cell in result.cells)
    _say(f"{decisions:,} decisions in {result.info.seconds:.0f} s → {output / 'index.html'}")


@app.command(name="simulate")
def simulate_command(
    problem: Annotated[Path, typer.Option(help="The problem, as .yaml or .json.")],
    learner: Annotated[str, typer.Option(help=f"One of: {', '.join(LEARNERS)}.")] = "seq-oos",
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
    steps: Annotated[int, typer.Option(min=1, help="How many cases.")] = 100_000,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the run.")] = 0,
    save: Annotated[Path | None, typer.Option(help="Where to save what was learned.")] = None,
) -> None:
    """Let a learner decide many cases of your own problem, and show what it learned."""
    loaded = Problem.load(problem)
    if learner not in LEARNERS:
        raise OptionError(f"unknown learner {learner!r}, expected one of: {', '.join(LEARNERS)}")
    options = {name: _value(text) for name, text in _pairs("--option", option)}
    known = [name for name in inspect.signature(LEARNERS[learner]).parameters if name != "rng"][1:]
    for name in options:
        if name not in known:
            names = ", ".join(known) or "none"
            raise OptionError(f"learner {learner} has no option {name!r}, expected: {names}")
    chosen = LEARNERS[learner](loaded, rng=seed, **options)
    if save is not None and not save.parent.is_dir():
        raise OptionError(f"--save {save}: there is no folder {save.parent}")
    if reward and table is None:
        raise OptionError("--reward names columns of a table: give one with --table")
    if table is None:
        source: Environment = Population(model_at_random(np.random.default_rng(model_seed), loaded))
    else:
        source = _read_table(loaded, table, dict(_pairs("--reward", reward)))
    _show(simulate(chosen, source, steps=steps, rng=seed))
    if isinstance(chosen, learners.Learner):
        _say(f"by the {chosen.model_name} model")
    _say("\nWhat it recommends:\n")
    _say(chosen.recommend().tree())
    if save is not None:
        chosen.save(save)
        _say(f"\nsaved as {save}")


@app.command(name="learners")
def learners_command() -> None:
    """List the learners."""
    grid = Grid(box=None, padding=(0, 2, 0, 0))
    grid.add_column("name", style="bold", no_wrap=True)
    grid.add_column("what it is")
    for name, kind in learners.LEARNERS.items():
        grid.add_row(name, (kind.__doc__ or "").strip().splitlines()[0])
    Console().print(grid)


def _summarise(result: experiments.Reproduction) -> None:
    """Figure 1 as a table: the mean gain of each learner at each price, and the oracles'."""
    grid = Grid(box=None, padding=(0, 2, 0, 0), title="Mean gain a case", title_justify="left")
    grid.add_column("price", justify="right")
    for name in (*result.info.learners, "best set", "best steps", "nothing"):
        grid.add_column(name, justify="right")
    for best in result.oracles:
        gains = [
            [c.gain for c in result.cells if (c.learner, c.cost) == (name, best.cost)]
            for name in result.info.learners
        ]
        means = [sum(gain) / len(gain) for gain in gains]
        limits = (best.simultaneous, best.sequential, best.nothing)
        grid.add_row(f"{best.cost:g}", *(f"{value:.1f}" for value in (*means, *limits)))
    console = Console()
    console.print(grid)
    middle = result.oracles[len(result.oracles) // 2].cost
    cell = next(c for c in result.cells if (c.learner, c.cost) == ("seq-oos", middle))
    console.print(f"\nWhat seq-oos recommends at a price of {middle:g}:\n")
    console.print(cell.tree + "\n", markup=False, highlight=False)


def _show(run: Run) -> None:
    """Gain, reward and spend, early and late, and what was bought."""
    tenth = max(1, len(run) // 10)
    parts = [("first tenth", slice(tenth)), ("last tenth", slice(-tenth, None))]
    parts.append(("all", slice(None)))
    grid = Grid(box=None, padding=(0, 2, 0, 0))
    grid.add_column("")
    for name, _ in parts:
        grid.add_column(name, justify="right")
    rows: list[tuple[str, Callable[[slice], str]]] = [
        ("mean gain", lambda part: f"{run.gain[part].mean():.3f}"),
        ("mean reward", lambda part: f"{run.reward[part].mean():.3f}"),
        ("mean spend", lambda part: f"{run.cost[part].mean():.3f}"),
    ]
    for title, text in rows:
        grid.add_row(title, *(text(part) for _, part in parts))
    bought = [run.bought(part) for _, part in parts]
    for name in bought[0]:
        grid.add_row(f"buys {name}", *(f"{share[name]:.0%}" for share in bought))
    Console().print(grid)
    _say(f"\n{len(run):,} cases")


def _read_table(problem: Problem, path: Path, rewards: dict[str, str]) -> Table:
    """A CSV as a table. Its cells are text: they are matched with the values as they print."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            names, *rows = csv.reader(file)
    except UnicodeDecodeError as error:
        raise OptionError(f"{path}: not UTF-8 text: {error.reason}") from None
    except ValueError:
        raise OptionError(f"{path} is empty") from None
    while rows and not rows[-1]:
        rows.pop()
    for line, row in enumerate(rows, start=2):
        if len(row) != len(names):
            raise OptionError(f"{path}, line {line}: {len(row)} cells, expected {len(names)}")
    columns: dict[str, list[Any]] = {n: [row[k] for row in rows] for k, n in enumerate(names)}
    for observation in problem.observations:
        printed = {str(value): value for value in observation.values}
        if observation.name in columns:
            cells = columns[observation.name]
            columns[observation.name] = [
                printed[cell] if cell in printed else _cell(observation, cell) for cell in cells
            ]
    rewards = {action: rewards.get(action, action) for action in {*problem.actions, *rewards}}
    return Table(problem, columns, rewards=rewards)


def _cell(observation: Observation, cell: str) -> Any:
    """What a cell says that is not one of the values: nothing, or a number that lies in a bin."""
    if not cell.strip():
        return None
    try:
        return float(cell) if observation.takes_numbers else cell
    except ValueError:
        return cell


def _pairs(name: str, given: list[str] | None) -> list[tuple[str, str]]:
    for text in given or []:
        if "=" not in text:
            raise OptionError(f"{name} {text}: expected name=value")
    return [(text.partition("=")[0], text.partition("=")[2]) for text in given or []]


def _value(text: str) -> Any:
    """A number if it is one, a list if it has commas, else the text."""
    if "," in text:
        return [part for part in text.split(",") if part]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _say(text: str) -> None:
    typer.echo(text)


def _fail(message: str) -> NoReturn:
    typer.echo(f"askwise: {message}", err=True)
    sys.exit(1)
