"""The rows behind the figures, for other programs."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from askwise.simulation.experiments.results import Reproduction


def write_tables(reproduction: Reproduction, folder: Path) -> None:
    """`figure1.csv`, `regret.csv` and `run.json`."""
    cells = reproduction.cells
    _write_rows(
        folder / "figure1.csv",
        ("learner", "cost", "seed", "gain"),
        ((cell.learner, float(cell.cost), cell.seed, float(cell.gain)) for cell in cells),
    )
    _write_rows(
        folder / "regret.csv",
        ("learner", "radii", "cost", "seed", "t", "regret", "round"),
        (
            (cell.learner, radii, float(cell.cost), cell.seed, int(t), float(regret), int(round_))
            for radii, some in (("practical", cells), ("theorem", reproduction.theorem_cells))
            for cell in some
            for t, regret, round_ in cell.curve
        ),
    )
    timings = [
        {
            "learner": cell.learner,
            "cost": float(cell.cost),
            "seed": cell.seed,
            "seconds": float(cell.seconds),
        }
        for cell in cells
    ]
    run = msgspec.json.encode({**msgspec.structs.asdict(reproduction.info), "cells": timings})
    (folder / "run.json").write_bytes(msgspec.json.format(run, indent=2) + b"\n")


def _write_rows(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
