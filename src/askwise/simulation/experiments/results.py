"""The results of an experiment: flat rows, one for each (learner, cost, seed)."""

import msgspec


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One learner at one price with one seed."""

    learner: str
    """Its name in the registry."""
    cost: float
    seed: int
    steps: int
    gain: float
    """The mean gain of all cases: the paper's Gain."""
    late_gain: float
    """The mean gain of the last tenth of the cases."""
    rounds: int
    seconds: float
    bought: dict[str, float]
    """For each observation the share of the last tenth of the cases that bought it."""
    curve: list[tuple[int, float, int]]
    """(t, cumulative regret, round) at times spaced evenly on a log scale. The regret is against
    the oracle that buys as the learner does, simultaneously or sequentially."""
    tree: str
    """The policy recommended after the last case, as text."""


class Oracle(msgspec.Struct, frozen=True, kw_only=True):
    """The best that can be done at one price."""

    cost: float
    nothing: float
    """The best gain without buying anything."""
    simultaneous: float
    sequential: float
    bought_simultaneous: dict[str, float]
    bought_sequential: dict[str, float]
    """For each observation the share of cases in which the oracle buys it."""
    tree_simultaneous: str
    tree_sequential: str


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The settings with which the results were made."""

    command: str
    started: str
    seconds: float
    versions: dict[str, str]
    machine: str
    steps: int
    seeds: list[int]
    costs: list[float]
    learners: list[str]
    reward_value: float
    max_observations: int
    observations: list[str]
    assumptions: list[tuple[str, str, str]]
    """(what, what is assumed, why) of the population."""


class Reproduction(msgspec.Struct, frozen=True, kw_only=True):
    """All results of a reproduction of the paper's experiment."""

    info: RunInfo
    oracles: list[Oracle]
    cells: list[Cell]
    theorem_cells: list[Cell] = []
    """The results of the theorems' learners with the theorems' radii, at some of the prices."""
