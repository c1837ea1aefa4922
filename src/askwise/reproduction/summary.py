"""The numbers of a reproduction that its figures and its page show."""

from functools import cached_property
from typing import Literal

import numpy as np

from askwise._support.typing import AcquisitionName
from askwise.errors import OptionError
from askwise.reproduction.statistics import MeanOfRuns, estimate
from askwise.simulation.experiments.results import Cell, Oracle, Reproduction

NAMES = {"sim-oos": "Sim-OOS", "seq-oos": "Seq-OOS", "contextual-ucb": "Contextual-UCB"}


def display(learner: str) -> str:
    """A learner's name as people write it."""
    return NAMES.get(learner, learner)


class Summary:
    """Means over seeds of the results, by learner and price."""

    def __init__(self, reproduction: Reproduction) -> None:
        self.info = reproduction.info
        self.cells = reproduction.cells
        self.oracles = {oracle.cost: oracle for oracle in reproduction.oracles}
        self._cells: dict[tuple[str, float], list[Cell]] = {}
        for cell in reproduction.cells:
            if cell.cost not in self.oracles:
                raise OptionError(f"the results have the price {cell.cost:g}, the oracles do not")
            self._cells.setdefault((cell.learner, cell.cost), []).append(cell)
        self._theorem_cells: dict[tuple[str, float], list[Cell]] = {}
        for cell in reproduction.theorem_cells:
            self._theorem_cells.setdefault((cell.learner, cell.cost), []).append(cell)
        if not self._cells:
            raise OptionError("there is nothing to report: the reproduction has no results")

    @cached_property
    def learners(self) -> list[str]:
        """The learners that ran, in the order in which they were asked for."""
        ran = dict.fromkeys(cell.learner for cell in self.cells)
        asked = [name for name in self.info.learners if name in ran]
        return list(dict.fromkeys(asked + list(ran)))

    @cached_property
    def prices(self) -> list[float]:
        """The prices, from the lowest to the highest."""
        return sorted({cell.cost for cell in self.cells})

    @cached_property
    def _plans(self) -> dict[str, AcquisitionName]:
        return {name: self._nearest(name) for name in self.learners}

    @cached_property
    def focus(self) -> str:
        """The learner that the page describes in detail: Seq-OOS, or the first."""
        return "seq-oos" if "seq-oos" in self.learners else self.learners[0]

    @cached_property
    def baseline(self) -> str | None:
        """The learner that buys everything, if it ran."""
        return "contextual-ucb" if "contextual-ucb" in self.learners else None

    @cached_property
    def three(self) -> list[float]:
        """The lowest, the middle and the highest price."""
        return three_of(self.prices)

    @cached_property
    def turning(self) -> list[float]:
        """The lowest, the highest and a price between at which the oracle changes what it buys."""
        plan = self.plan(self.focus)
        changes, before = [], None
        for price in self.prices:
            bought = {name: round(share, 3) for name, share in self.ideal(plan, price).items()}
            if bought != before:
                changes.append(price)
            before = bought
        ends = {self.prices[0], self.prices[-1]}
        between = [price for price in changes if price not in ends]
        middle = between[len(between) // 2] if between else self.prices[len(self.prices) // 2]
        return sorted(ends | {middle})

    def plan(self, learner: str) -> AcquisitionName:
        """The acquisition of a learner, which is that of the oracle for its regret."""
        return self._plans[learner]

    def ran(self, learner: str) -> list[float]:
        """The prices at which this learner ran."""
        return [price for price in self.prices if (learner, price) in self._cells]

    def at(self, learner: str, price: float) -> list[Cell]:
        """The results of a learner at a price, one for each seed."""
        return self._cells[learner, price]

    def oracle(self, price: float) -> Oracle:
        """The oracles at this price."""
        return self.oracles[price]

    def best(self, plan: AcquisitionName, price: float) -> float:
        """The gain of the oracle of that acquisition at a price."""
        oracle = self.oracles[price]
        return oracle.sequential if plan == "sequential" else oracle.simultaneous

    def ideal(self, plan: AcquisitionName, price: float) -> dict[str, float]:
        """The purchases of the oracle, in shares of the cases."""
        oracle = self.oracles[price]
        return oracle.bought_sequential if plan == "sequential" else oracle.bought_simultaneous

    def gain(self, learner: str, price: float) -> MeanOfRuns:
        """The mean gain of a case."""
        return estimate([cell.gain for cell in self.at(learner, price)])

    def lead(self, learner: str, other: str, price: float) -> MeanOfRuns:
        """The difference of the gains of a case, paired by seed if both learners ran it."""
        ours = {cell.seed: cell.gain for cell in self.at(learner, price)}
        theirs = {cell.seed: cell.gain for cell in self.at(other, price)}
        common = [seed for seed in ours if seed in theirs]
        if common:
            return estimate([ours[seed] - theirs[seed] for seed in common])
        return MeanOfRuns(self.gain(learner, price).mean - self.gain(other, price).mean)

    def late_gain(self, learner: str, price: float) -> MeanOfRuns:
        """The mean gain of a case of the last tenth."""
        return estimate([cell.late_gain for cell in self.at(learner, price)])

    def late_share(self, learner: str, price: float) -> MeanOfRuns | None:
        """The late gain in percent of the learner's oracle; None if that earns nothing."""
        best = self.best(self.plan(learner), price)
        if best <= 0:
            return None
        return estimate([100 * cell.late_gain / best for cell in self.at(learner, price)])

    def bought(self, learner: str, price: float, observation: str) -> MeanOfRuns:
        """The percentage of late cases that bought the observation."""
        cells = self.at(learner, price)
        return estimate([100 * cell.bought.get(observation, 0.0) for cell in cells])

    def regret(
        self, learner: str, price: float, *, theorem: bool = False
    ) -> tuple[list[int], list[MeanOfRuns]]:
        """The cumulative regret at the times of all seeds; `theorem` means with theorem radii."""
        cells = self._theorem_cells[learner, price] if theorem else self.at(learner, price)
        return _curve(cells, column=1)

    def with_theorem(self, price: float) -> list[str]:
        """The learners that also ran with the theorems' radii at this price."""
        return [name for name in self.learners if (name, price) in self._theorem_cells]

    def slopes(self, learner: str, price: float, *, theorem: bool = False) -> list[float]:
        """The slopes of log regret against log time in the last three decades; NaN below zero."""
        times, values = self.regret(learner, price, theorem=theorem)
        if not times:
            return []
        ends = [times[-1] / 10**k for k in (3, 2, 1, 0) if times[-1] / 10**k >= times[0]]
        with np.errstate(invalid="ignore", divide="ignore"):
            heights = np.log10([value.mean for value in values])
        found: list[float] = np.diff(np.interp(np.log10(ends), np.log10(times), heights)).tolist()
        return found

    def rounds(self, learner: str, price: float) -> tuple[list[int], list[MeanOfRuns]]:
        """The number of the round at the times that all seeds recorded."""
        return _curve(self.at(learner, price), column=2)

    def plans_rarely(self, learner: str) -> bool:
        """Whether rounds are far fewer than cases, so that their number is worth a figure."""
        cells = [cell for cell in self.cells if cell.learner == learner]
        return all(cell.rounds <= max(1, cell.steps // 2) for cell in cells)

    def _nearest(self, learner: str) -> AcquisitionName:
        """The acquisition by whose oracle regret + gains = cases × gain of the oracle.

        A learner's options may choose either acquisition, so its name does not tell.
        """
        off: dict[AcquisitionName, float] = {"simultaneous": 0.0, "sequential": 0.0}
        for cell in self.cells:
            if cell.learner == learner and cell.curve and cell.curve[-1][0] == cell.steps:
                against = cell.gain + cell.curve[-1][1] / cell.steps
                for plan in off:
                    off[plan] += abs(self.best(plan, cell.cost) - against)
        if off["simultaneous"] == off["sequential"]:
            return "sequential" if learner == "seq-oos" else "simultaneous"
        return "sequential" if off["sequential"] < off["simultaneous"] else "simultaneous"


def _curve(cells: list[Cell], column: Literal[1, 2]) -> tuple[list[int], list[MeanOfRuns]]:
    curves = [{row[0]: row[column] for row in cell.curve} for cell in cells]
    times = sorted(set(curves[0]).intersection(*curves[1:]))
    return times, [estimate([curve[t] for curve in curves]) for t in times]


def three_of(prices: list[float]) -> list[float]:
    """The lowest, the middle and the highest of rising prices."""
    return sorted({prices[0], prices[len(prices) // 2], prices[-1]})
