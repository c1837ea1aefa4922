"""One full plan: against general solvers on a small problem, against a copy on a large one.

    python benchmarks/planning.py             prints a table
    python benchmarks/planning.py --check     exits with 1 if a goal is missed or a value differs

A full plan goes from the counters to what to buy and do in every state: optimistic rewards, then
the planner, the allocation of all results included. All kernels are compiled beforehand.

On the shape of the paper's problem it is compared with the same linear programs solved one by one,
by SciPy's HiGHS and by CVXPY. Both are given the optimistic rewards and the layout of the problem
for free, and CVXPY keeps one canonicalised problem for each number of outcomes: only the numbers
change between plans. On large problems it is compared with copying the counters that it reads.

Every time is the best of several rounds, and the contestants take turns in each round.
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import cvxpy as cp
import numpy as np
from scipy.optimize import linprog

from askwise import Observation, Problem
from askwise._kernels.radii import Radii
from askwise.counting import UNIT, Statistics
from askwise.estimation.estimates import Estimates
from askwise.estimation.optimistic import optimistic_estimates, practical_radii
from askwise.planning import plan_sequential, plan_simultaneous
from askwise.states import Lattice

PLANNERS = "simultaneous", "sequential"
SOLVER_GOAL = 1_000  # times faster, at least
COPY_GOAL = 10  # times slower, at most
TOLERANCES = 1e-9, 1e-6  # of HiGHS and CVXPY, as shares of the reward value
T = 200_000
SOLVER_ROUNDS, COPY_ROUNDS, CALLS = 5, 25, 500

Program = Callable[[np.ndarray, np.ndarray, float], float]
"""Max Σ p v, s.t. Σ|p − p̂| ≤ radius, Σ p = 1, p ≥ 0, given v, p̂ and the radius."""


class Row(NamedTuple):
    """One comparison: what is printed, and whether its goal is met."""

    cells: tuple[str, ...]
    met: bool


def highs(values: np.ndarray, centre: np.ndarray, radius: float) -> float:
    """One program by scipy.optimize.linprog; the variables are p and u ≥ |p − p̂|."""
    k = len(values)
    eye, one, nothing = np.eye(k), np.ones((1, k)), np.zeros((1, k))
    result = linprog(
        np.concatenate([-values, np.zeros(k)]),
        A_ub=np.block([[eye, -eye], [-eye, -eye], [nothing, one]]),
        b_ub=np.concatenate([centre, -centre, [radius]]),
        A_eq=np.block([[one, nothing]]),
        b_eq=[1.0],
        method="highs",
    )
    assert result.status == 0, result.message
    return -float(result.fun)


class Cvxpy:
    """One program by CVXPY's default solver, from a parametrised problem for each size."""

    def __init__(self) -> None:
        self.problems: dict[int, tuple[cp.Problem, cp.Parameter, cp.Parameter, cp.Parameter]] = {}
        self.solver = ""

    def __call__(self, values: np.ndarray, centre: np.ndarray, radius: float) -> float:
        """The value of the program."""
        k = len(values)
        if k not in self.problems:
            p = cp.Variable(k, nonneg=True)
            v, p_hat, r = cp.Parameter(k), cp.Parameter(k), cp.Parameter(nonneg=True)
            inside = [cp.norm1(p - p_hat) <= r, cp.sum(p) == 1]
            self.problems[k] = cp.Problem(cp.Maximize(v @ p), inside), v, p_hat, r
        problem, v, p_hat, r = self.problems[k]
        v.value, p_hat.value, r.value = values, centre, radius
        problem.solve()
        self.solver = problem.solver_stats.solver_name
        return float(problem.value)


def solve(program: Program, values: np.ndarray, weights: np.ndarray, radii: Radii) -> float:
    """The optimistic mean of the values, given how often each was seen."""
    n = weights.sum()
    width = radii.outcomes + radii.per_outcome * len(values)
    return program(values, weights / n, min(2.0, float(np.sqrt(width / n))))


def simultaneous_by(program: Program, lattice: Lattice, estimates: Estimates) -> np.ndarray:
    """V̂(I) of every subset, one program each."""
    value = lattice.problem.reward_value * estimates.reward
    weight = estimates.weight
    blocks = [slice(r.start, r.stop) for r in map(lattice.states, range(lattice.subsets))]
    means = [solve(program, value[b], weight[b], estimates.radii) for b in blocks]
    return np.array(means) - lattice.subset_costs


def sequential_by(program: Program, lattice: Lattice, estimates: Estimates, looks) -> np.ndarray:
    """F̂(ψ) of every state, one program for each (state, observation), the largest states first."""
    value = lattice.problem.reward_value * estimates.reward
    for state, children, slot, cost in looks:
        weights = estimates.weight[children, slot]
        mean = solve(program, value[children], weights, estimates.radii)
        value[state] = max(value[state], mean - cost)
    return value


def all_looks(lattice: Lattice) -> list[tuple[int, np.ndarray, int, float]]:
    """(state, its children, the slot of the step in them, the cost) of every possible look."""
    return [
        (state, np.array(children), lattice.slot(children[0], i), observation.cost)
        for state in reversed(range(lattice.size))
        for i, observation in enumerate(lattice.problem.observations)
        if (children := lattice.children(state, i))
    ]


def filled(values: list[int], m: int) -> Statistics:
    """Random counters in every cell of a problem with four actions."""
    rng = np.random.default_rng(0)
    observations = [
        Observation(f"o{i}", values=list(range(n)), cost=float(rng.uniform(1, 10)))
        for i, n in enumerate(values)
    ]
    problem = Problem(
        observations=observations, actions=list("abcd"), max_observations=m, reward_value=100.0
    )
    statistics = Statistics(Lattice(problem))
    for _, counter in statistics.arrays():
        counter[...] = rng.integers(1, 1000, counter.shape)
    earned = statistics.action_counts * rng.random(statistics.action_counts.shape)
    statistics.reward_sums[...] = earned / UNIT
    return statistics


def planner(name: str, statistics: Statistics) -> tuple[Callable, np.ndarray]:
    """The full plan as a function, and the weights that it reads."""
    simultaneous = name == "simultaneous"
    weight = statistics.visits if simultaneous else statistics.transitions
    plan = plan_simultaneous if simultaneous else plan_sequential
    radii = practical_radii(width=1.0).at(T)
    return lambda: plan(statistics.lattice, optimistic_estimates(statistics, weight, radii)), weight


def best_times(rounds: int, contestants: list[tuple[Callable, int]]) -> list[float]:
    """Seconds for one call of each (function, calls in a row), in turns; the best of the rounds."""
    best = [np.inf] * len(contestants)
    for function, _ in contestants:
        function()
    for _ in range(rounds):
        for j, (function, calls) in enumerate(contestants):
            begin = time.perf_counter()
            for _ in range(calls):
                function()
            best[j] = min(best[j], (time.perf_counter() - begin) / calls)
    return best


def against_solvers(name: str) -> list[Row]:
    statistics = filled([4, 2, 3, 5], 3)
    lattice = statistics.lattice
    plan, weight = planner(name, statistics)
    estimates = optimistic_estimates(statistics, weight, practical_radii(width=1.0).at(T))
    looks = all_looks(lattice)
    programs = lattice.subsets if name == "simultaneous" else len(looks)
    cvxpy = Cvxpy()

    def by(program: Program) -> np.ndarray:
        if name == "simultaneous":
            return simultaneous_by(program, lattice, estimates)
        return sequential_by(program, lattice, estimates, looks)

    beta, values = lattice.problem.reward_value, plan().values
    off = [float(abs(by(program) - values).max()) / beta for program in (highs, cvxpy)]
    mine, *others = best_times(
        SOLVER_ROUNDS, [(plan, CALLS), (lambda: by(highs), 1), (lambda: by(cvxpy), 1)]
    )
    rows = []
    for solver, other, error, limit in zip(
        ("SciPy HiGHS", f"CVXPY {cvxpy.solver}"), others, off, TOLERANCES, strict=True
    ):
        faster = other / mine
        cells = f"{solver}, {programs} LPs", clock(other), f"{faster:,.0f}x faster"
        met = faster >= SOLVER_GOAL and error <= limit
        verdict = f">= {SOLVER_GOAL:,}x", f"{error:.0e}", "met" if met else "MISSED"
        rows.append(Row((*who(name, lattice, mine), *cells, *verdict), met))
    return rows


def against_copy(name: str, statistics: Statistics, *, has_goal: bool) -> Row:
    plan, weight = planner(name, statistics)
    counters = [statistics.action_counts, statistics.reward_sums, weight]
    copies = [np.zeros_like(counter) for counter in counters]

    def copy() -> None:
        for there, here in zip(copies, counters, strict=True):
            np.copyto(there, here)

    mine, other = best_times(COPY_ROUNDS, [(plan, 1), (copy, 1)])
    slower, size = mine / other, sum(counter.nbytes for counter in counters)
    cells = f"np.copyto of {size / 1e6:,.0f} MB", clock(other), f"{slower:.1f}x slower"
    met = slower <= COPY_GOAL or not has_goal
    verdict = (f"<= {COPY_GOAL}x", "", "met" if met else "MISSED") if has_goal else ("", "", "")
    return Row((*who(name, statistics.lattice, mine), *cells, *verdict), met)


def who(name: str, lattice: Lattice, seconds: float) -> tuple[str, ...]:
    """The cells that every row begins with."""
    return name, f"{lattice.size:,}", clock(seconds), f"{seconds / lattice.size * 1e9:.1f} ns"


def clock(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.1f} ms"


def table(rows: list[Row]) -> str:
    head = ("planner", "states", "one plan", "a state", "against", "takes", "a plan is")
    lines = [(*head, "goal", "off", ""), *(row.cells for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = "<>>><>>>><"
    return "\n".join(
        "  ".join(f"{c:{s}{w}}" for c, s, w in zip(line, sides, widths, strict=True)).rstrip()
        for line in lines
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if a goal is missed")
    check = parser.parse_args().check
    rows = [row for name in PLANNERS for row in against_solvers(name)]
    for observations in (20, 47):
        statistics = filled([4] * observations, 3)
        large = statistics.lattice.size >= 1_000_000
        rows += [against_copy(name, statistics, has_goal=large) for name in PLANNERS]
    print(table(rows))
    print("\noff: the largest difference between the values, as a share of the reward value")
    return int(check and not all(row.met for row in rows))


if __name__ == "__main__":
    sys.exit(main())
