"""Regret on the page: with the theorems' radii where it speaks of the theorems, and its slopes."""

import math

import msgspec
import pytest

from askwise.reproduction.summary import Summary
from reproduction.test_page import page_of, reproduction, rows


def test_runs_with_the_theorems_radii_stand_apart(tmp_path):
    """Their regret is t here, and 3 √t that of the others: slopes of 1, and of ½."""
    given = reproduction(seeds=(0,))
    cells = [
        msgspec.structs.replace(cell, curve=[(t, float(t), 1) for t in (1, 10, 100, 1000)])
        for cell in given.cells
        if cell.learner != "contextual-ucb"
    ]
    given = msgspec.structs.replace(given, theorem_cells=cells)
    summary = Summary(given)
    assert summary.with_theorem(1.0) == ["sim-oos", "seq-oos"]
    assert summary.slopes("seq-oos", 1.0, theorem=True) == pytest.approx([1.0, 1.0, 1.0])
    assert summary.slopes("seq-oos", 1.0) == pytest.approx([0.5, 0.5, 0.5])
    text = " ".join("".join(page_of(given, tmp_path).text).split())
    theorem, practical = text.split("No theorem speaks of them")
    assert "Price 1, the theorems’ radii" in theorem
    assert "Sim-OOS: 1.00, 1.00, 1.00. Seq-OOS: 1.00, 1.00, 1.00." in theorem
    assert "Price 1, practical radii" in practical
    assert "Sim-OOS: 0.50, 0.50, 0.50. Seq-OOS: 0.50, 0.50, 0.50." in practical
    radii = [(row["learner"], row["radii"]) for row in rows(tmp_path / "regret.csv")]
    assert ("seq-oos", "theorem") in radii
    assert ("contextual-ucb", "theorem") not in radii


def test_slopes_of_curves_that_are_short_or_below_zero():
    given = reproduction(seeds=(0,), costs=(1.0,), learners=("seq-oos",))

    def slopes(curve):
        cells = [msgspec.structs.replace(given.cells[0], curve=curve)]
        return Summary(msgspec.structs.replace(given, cells=cells)).slopes("seq-oos", 1.0)

    assert slopes([]) == []
    assert slopes([(5, 1.0, 1)]) == []
    assert slopes([(10, 2.0, 1), (100, 20.0, 1)]) == pytest.approx([1.0])
    assert math.isnan(slopes([(10, 2.0, 1), (100, -3.0, 1)])[0])
