"""Plans that cost what changed: time and memory as problems grow, beside planning in full.

    python benchmarks/scale.py                  prints the tables and the goals
    python benchmarks/scale.py --check          exits with 1 if a goal is missed
    python benchmarks/scale.py --quick          a small version
    python benchmarks/scale.py --figure PATH    draws the growth, too

Observations of equal prices, five of which matter. Cases are drawn beforehand; a run buys for them,
decides, counts, ends rounds and plans, all within the time. Times are of the processor, the best of
several runs, each with a new learner, after compilation. Every learner on every problem is measured
in a fresh process, one after the other. Memory is the process's, as Linux tells it.
"""

import argparse
import ctypes
import math
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from askwise import Observation, Problem, SeqOOS, SimOOS, simulate
from askwise.estimation.optimistic import optimistic_estimates
from askwise.learners.learner import rounds_of
from askwise.learners.optimistic import OptimisticInFull, OptimisticLearner
from askwise.learners.strategy import Cases
from askwise.simulation.environments import Draws, Population, breast_cancer
from askwise.states.layout import count_states

DOUBLING, EXACT = CLOCKS = "doubling", "exact"
LEARNERS: dict[str, type[OptimisticLearner]] = {"Sim-OOS": SimOOS, "Seq-OOS": SeqOOS}
CASES = 200_000, 6_000, 100_000, 20_000  # of the runs, in full, as problems grow, case by case
QUICK_CASES = 20_000, 300, 20_000, 5_000
MOST_IN_FULL = 3_000_000  # states, for a full plan to be timed
FEWEST = 2_000  # visited states, for the bytes of one to mean something
FASTER = {("Sim-OOS", DOUBLING): 100, ("Seq-OOS", DOUBLING): 100, ("Seq-OOS", EXACT): 30}


class Shape(NamedTuple):
    """How large a problem is."""

    observations: int = 20
    values: int = 4
    m: int = 3
    actions: int = 4

    @property
    def states(self) -> int:
        """Ψ_tot."""
        return count_states([self.values] * self.observations, self.m)


LARGE = Shape(60, m=4)
GROWTH = [*(Shape(n) for n in (3, 5, 10, 20, 40, 60, 100)), LARGE]
ONE_BY_ONE = [(f"{n} values", Shape(values=n)) for n in (2, 4, 6, 8, 10)]
ONE_BY_ONE += [(f"m = {n}", Shape(m=n)) for n in (1, 2, 3, 4)]
ONE_BY_ONE += [(f"{n} actions", Shape(actions=n)) for n in (2, 4, 8, 16, 32)]


class Additive:
    """An environment in which only the first five observations matter."""

    def __init__(self, shape: Shape) -> None:
        self.size, values = shape.observations, list(range(shape.values))
        self.problem = Problem(
            observations=[Observation(f"o{i}", values=values, cost=1.0) for i in range(self.size)],
            actions=[f"a{k}" for k in range(shape.actions)],
            max_observations=shape.m,
            reward_value=100.0,
        )
        matter = min(5, self.size), shape.values, shape.actions
        self.weights = np.random.default_rng(0).normal(size=matter)

    def draw(self, rng: np.random.Generator, cases: int) -> Draws:
        """The logit of success is a sum over the observations that matter."""
        values = rng.integers(self.weights.shape[1], size=(cases, self.size), dtype=np.int16)
        logits = sum(weight[values[:, i]] for i, weight in enumerate(self.weights))
        success = rng.random((cases, 1)) < 1 / (1 + np.exp(-logits))
        return Draws(values, success.astype(float))


class Measured(NamedTuple):
    """A learner on a problem."""

    learner: str
    clock: str
    shape: Shape
    cases: int
    seconds: float
    rounds: int
    visited: int
    own: tuple[int, int, int]
    """Bytes, with rows only for visited states: after the first case, after the last, at most."""
    plan: float
    copy: float
    """Seconds of a full plan at the end of the run, and of copying the counters that it reads."""
    prefix: tuple[int, float, float, bool] = (0, 0.0, 0.0, True)
    """Of the first cases: rounds, seconds, seconds with full plans, whether all decisions agree."""

    @property
    def decision(self) -> float:
        """µs a decision, planning included."""
        return self.seconds / self.cases * 1e6

    @property
    def round(self) -> float:
        """µs a round, its decisions included."""
        return self.seconds / self.rounds * 1e6


def best(repeats: int, call: Callable[[], Any]) -> float:
    """The fewest seconds of the processor that a call took; a slow one is not called again."""
    times: list[float] = []
    while len(times) < repeats and sum(times) < 4:
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return min(times)


def run(make: Callable[[], OptimisticLearner], draws: Draws, repeats: int = 3) -> tuple[Any, ...]:
    """(The fewest seconds, a learner, its decisions); making the learners is not timed."""
    n, fresh = len(draws.values), [make() for _ in range(repeats)]
    state, action, rounds = np.zeros(n, np.int64), np.zeros(n, np.int16), np.zeros(n, np.int64)
    used: list[OptimisticLearner] = []

    def decide() -> None:
        used[:] = [fresh.pop()]
        rounds_of(used[0]).run(Cases(*draws, state, action, rounds))

    return best(repeats, decide), used[0], (state, action, rounds)


def plan_and_copy(learner: OptimisticLearner) -> tuple[float, float]:
    """Seconds of one full plan, and of copying the counters that it reads."""
    lattice, way = learner.statistics.lattice, rounds_of(learner).strategy.acquisition
    if lattice.size > MOST_IN_FULL:
        return math.nan, math.nan
    counted = learner.statistics.dense()
    weight = way.weight(counted)
    radii = rounds_of(learner).strategy.confidence.radii(
        lattice, way.name, rounds_of(learner).now.t
    )
    read = counted.action_counts, counted.reward_sums, weight
    counters = np.concatenate([array.ravel() for array in read])
    plan = best(5, lambda: way.best(lattice, optimistic_estimates(counted, weight, radii)))
    return plan, best(5, partial(np.copyto, np.zeros_like(counters), counters))


def memory(which: str) -> int:
    """The bytes of this process that are resident (VmRSS), or were at most (VmHWM)."""
    ctypes.CDLL(None).malloc_trim(0)  # what was freed does not count
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(which))


def measure(name: str, shape: Shape, cases: int, prefix: int = 0) -> Iterable[Measured]:
    """With both clocks."""
    kind, small, world = LEARNERS[name], Additive(Shape(4)), Additive(shape)
    full = type(f"{name} in full", (kind,), {"_kind": OptimisticInFull})
    for clock in CLOCKS:  # compiles
        simulate(kind(small.problem, clock=clock, storage="sparse"), small, steps=2_000, rng=0)
        simulate(full(small.problem, clock=clock), small, steps=2_000, rng=0)
    draws = world.draw(np.random.default_rng(0), cases)
    one, others, first = (Draws(draws[0][s], draws[1][s]) for s in np.s_[:1, 1:, :prefix])
    before, found = memory("VmRSS"), []
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # forgets the peak
    learner = kind(world.problem, storage="sparse")
    run(lambda: learner, one, 1)
    begun = memory("VmRSS") - before
    run(lambda: learner, others, 1)
    own = begun, memory("VmRSS") - before, memory("VmHWM") - before
    same = learner.statistics.visited - 1, own, *plan_and_copy(learner)
    for clock in CLOCKS:
        make, peer = (partial(k, world.problem, clock=clock) for k in (kind, full))
        seconds, learner, _ = run(make, draws)
        row = Measured(name, clock, shape, cases, seconds, rounds_of(learner).now.round, *same)
        if prefix:
            (mine, learner, decided), (other, _, theirs) = run(make, first, 10), run(peer, first, 1)
            agree = all(map(np.array_equal, decided, theirs))
            row = row._replace(prefix=(rounds_of(learner).now.round, mine, other, agree))
        found.append(row)
    return found


def case_by_case(name: str, cases: int) -> float:
    """µs a case through open, observe and reward, on the paper's problem."""
    world = Population(breast_cancer(cost=5.0))
    observations = world.problem.observations
    draws = world.draw(np.random.default_rng(0), cases)
    known = [
        {o.name: o.values[x] for o, x in zip(observations, line, strict=True)}
        for line in draws.values.tolist()
    ]

    def learn() -> None:
        learner = LEARNERS[name](world.problem)
        for values, rewards in zip(known, draws.rewards.tolist(), strict=True):
            case = learner.open()
            while wanted := case.wanted:
                case.observe({name: values[name] for name in wanted})
            case.reward(rewards[case.action_index])

    return best(3, learn) / cases * 1e6


def show(title: str, head: str, rows: Iterable[Iterable[Any]]) -> None:
    """Print a table that Markdown understands."""
    lines = [head.split(" | "), *([cell(content) for content in row] for row in rows)]
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * (width - 1) + ":" for width in widths])
    print(f"\n{title}\n")
    for line in lines:
        cells = (c.rjust(width) for c, width in zip(line, widths, strict=True))
        print(f"| {' | '.join(cells)} |", flush=True)


def cell(content: str | float) -> str:
    if isinstance(content, float):
        return f"{content:,.{2 if content < 10 else 0}f}" if math.isfinite(content) else ""
    return content if isinstance(content, str) else f"{content:,}"


def show_runs(rows: list[Measured]) -> None:
    lines = []
    for r in rows:
        rounds, mine, other, _ = r.prefix
        whole = other / rounds * r.rounds
        cells = r.learner, r.clock, r.seconds, r.rounds, r.decision, r.round, rounds, mine * 1e3
        lines.append((*cells, other * 1e3, other / mine, whole, whole / r.seconds))
    head = "learner | clock | seconds | rounds | µs a decision | µs a round | first rounds | ms"
    head += " | in full, ms | times faster | all in full, s | times faster"
    show(f"{rows[0].cases:,} cases, and the first of them in full, too:", head, lines)


def show_growth(rows: list[Measured]) -> None:
    lines, sizes = [], []
    for r, exact in zip(rows[::2], rows[1::2], strict=True):
        cells = r.shape.observations, r.shape.m, r.shape.states, r.learner, r.decision, r.round
        lines.append((*cells, exact.decision, r.plan * 1e6, r.copy * 1e6))
        each = (r.own[1] - r.own[0]) / r.visited if r.visited >= FEWEST else math.nan
        sizes.append((*cells[2:4], r.visited, each, *(own / 1e6 for own in r.own)))
    head = "observations | m | states | learner | µs a decision | µs a round | exact t, a decision"
    show("Growth, time:", f"{head} | a full plan, µs | copying its counters, µs", lines)
    head = "states | learner | visited | bytes for each | own MB at first | at the end | at most"
    show("Growth, memory:", head, sizes)


def show_singles(singles: list[tuple[str, list[Measured]]]) -> None:
    lines = [
        (what, rows[0].shape.states, *(r.decision for r in rows), *(r.round for r in rows))
        for what, rows in singles
    ]
    columns = " | Sim-OOS | exact t | Seq-OOS | exact t" * 2
    show("One at a time, µs a decision, then µs a round:", f"with | states{columns}", lines)


def goals(runs: list[Measured], growth: list[Measured], faces: dict[str, float]) -> Iterator[Any]:
    """(What, measured, the least), or the most with a minus sign."""
    for r in runs:
        who = f"{r.learner}, {r.clock} clock"
        if (r.learner, r.clock) in FASTER:
            yield f"{who}: times faster", r.prefix[2] / r.prefix[1], FASTER[r.learner, r.clock]
        yield f"{who}: decides as in full", int(r.prefix[3]), 1
    for name, face in faces.items():
        mine = {r.shape: r for r in growth if r[:2] == (name, DOUBLING)}
        yield f"{name}: seconds", *(r.seconds for r in runs if r[:2] == (name, DOUBLING)), -1
        slower = mine[Shape(40)].decision / mine[Shape(5)].decision
        yield f"{name}: times slower with 40 observations than with 5", slower, -4
        yield f"{name}: µs a case, case by case, on the paper's problem", face, -20
        if LARGE in mine:
            yield f"{name}, {LARGE.states:,} states: seconds", mine[LARGE].seconds, -5
            yield f"{name}, {LARGE.states:,} states: MB at most", mine[LARGE].own[2] / 1e6, -200


def draw(rows: list[Measured], path: Path) -> None:
    """The time of a decision against the number of states."""
    from matplotlib.ticker import EngFormatter, NullLocator

    from askwise.reproduction.drawing import KNOWN, MUTED, PAPER, blank, save, style
    from askwise.reproduction.labels import End, label_ends

    series, ends = [], []
    for name in LEARNERS:
        colour = KNOWN[name.lower()].colour
        mine, exact = ([r for r in rows if r[:2] == (name, clock)] for clock in CLOCKS)
        series.append((name, colour, "o-", [r.seconds / r.cases for r in mine]))
        series.append((f"{name}, exact t", colour, "o--", [r.seconds / r.cases for r in exact]))
        in_full = [r.plan * r.rounds / r.cases for r in mine]
        series.append((f"{name}, every round planned in full", colour, ":", in_full))
    copying = [r.copy * r.rounds / r.cases for r in mine]
    series.append(("copying the counters every round", MUTED, ":", copying))
    with style(text=False):
        figure, axes = blank(700, 440, left=66, right=112)
        axes.set(xscale="log", yscale="log", xlabel="States", ylabel="Time a decision")
        for axis, unit in ((axes.xaxis, ""), (axes.yaxis, "s")):
            axis.set(major_formatter=EngFormatter(unit), minor_locator=NullLocator())
        for text, colour, form, heights in series:
            states = [r.shape.states for r, y in zip(mine, heights, strict=True) if y > 0]
            x, y = states[-1], heights[len(states) - 1]
            axes.plot(states, heights[: len(states)], form, color=colour, lw=1.8, ms=4)
            if len(states) == len(heights):
                ends.append(End(x, y, text, colour))
            else:
                there = axes.annotate(text, (x, y), (7, 0), textcoords="offset points", va="center")
                there.set(color=colour, backgroundcolor=PAPER)
        axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())  # labels need them final
        label_ends(axes, ends)
        save(figure, path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if a goal is missed")
    parser.add_argument("--quick", action="store_true", help="a small version")
    parser.add_argument("--figure", type=Path, help="where to draw the growth")
    given = parser.parse_args()
    cases, prefix, each, face = QUICK_CASES if given.quick else CASES
    shapes, singles = ([Shape(5), Shape(40)], []) if given.quick else (GROWTH, ONE_BY_ONE)
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:

        def measured(shape: Shape, *job: int) -> list[Measured]:
            return [row for name in LEARNERS for row in pool.apply(measure, (name, shape, *job))]

        show_runs(runs := measured(Shape(), cases, prefix))
        show_growth(growth := [row for shape in shapes for row in measured(shape, each)])
        if singles:
            show_singles([(what, measured(shape, each)) for what, shape in singles])
        faces = {name: pool.apply(case_by_case, (name, face)) for name in LEARNERS}
    found = list(goals(runs, growth, faces))
    met = [math.copysign(value, limit) >= limit for _, value, limit in found]
    lines = [
        (what, value, f"{'≥' if limit > 0 else '≤'} {abs(limit)}", "met" if is_met else "MISSED")
        for (what, value, limit), is_met in zip(found, met, strict=True)
    ]
    show("Goals:", "what | measured | goal |  ", lines)
    if given.figure:
        draw(growth, given.figure)
    return int(given.check and not all(met))


if __name__ == "__main__":
    sys.exit(main())
