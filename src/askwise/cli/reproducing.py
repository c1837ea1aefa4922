"""`askwise reproduce`: the paper's experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from askwise._support.numbers import as_price, together
from askwise.cli.app import command, plain_grid, say
from askwise.reproduction.experiment import SEEDS, STEPS
from askwise.reproduction.experiment import reproduce as run_experiment
from askwise.simulation.experiments import Reproduction


@command(
    "reproduce",
    "askwise reproduce",
    "askwise reproduce --quick --output demo",
    "askwise reproduce --backend dask --address tcp://scheduler:8786",
)
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
    from askwise.reproduction import write_reproduction

    output.mkdir(parents=True, exist_ok=True)
    result = run_experiment(
        seeds=seeds or (3 if quick else SEEDS),
        steps=steps or (50_000 if quick else STEPS),
        keep=output / "cells.jsonl",
        backend=backend,
        address=address,
        workers=workers,
    )
    write_reproduction(result, output)
    _summarise(result)
    decisions = sum(cell.steps for cell in (*result.cells, *result.theorem_cells))
    say(f"{decisions:,} decisions in {result.info.seconds:.0f} s → {output / 'index.html'}")


def _summarise(result: Reproduction) -> None:
    """Figure 1 as a table: the mean gain of each learner at each price, and the oracles'."""
    grid = plain_grid(title="Mean gain a case", title_justify="left")
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
        grid.add_row(as_price(best.cost), *together((*means, *limits), decimals=1))
    console = Console()
    console.print(grid)
    middle = result.oracles[len(result.oracles) // 2].cost
    cell = next(c for c in result.cells if (c.learner, c.cost) == ("seq-oos", middle))
    console.print(f"\nWhat seq-oos recommends at a price of {as_price(middle)}:\n")
    console.print(cell.tree + "\n", markup=False, highlight=False)
