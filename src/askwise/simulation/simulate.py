"""Runs many cases fast, with the same decisions as case by case, bit for bit.

The compiled loop keeps the state in which a case acted, but not the order of purchase and not the
propensities. `simulate(…, log=True)` runs the same cases one by one and keeps both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from askwise._support.frames import framed
from askwise._support.html import table, text, title
from askwise._support.numbers import shown
from askwise._support.progress import ProgressBar
from askwise._support.random import as_generator
from askwise._support.typing import Choices, Floats, Integers, RandomSource
from askwise.errors import ModelError, OptionError
from askwise.learners import BaseLearner
from askwise.learners.learner import rounds_of
from askwise.learners.strategy import Cases
from askwise.problem import Value
from askwise.problem.rewards import range_words, remedy, shares_of
from askwise.simulation.environments.base import Draws, Environment, StakedDraws, stream
from askwise.states import Lattice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NUMBERS = ("reward", "cost", "gain", "round")
COLUMNS = ("case", "bought", "order", "action", *NUMBERS, "stake", "propensity")
"""The columns of a frame, without the observations."""


@dataclass(frozen=True)
class Run:
    """The results of a simulation, with one row for each case."""

    lattice: Lattice
    state: Integers
    """The state in which each case acted, as integers of the lattice."""
    action: Choices
    """The action of each case, as its index among the actions."""
    reward: Floats
    """The reward of each case; an amount of money if the problem has `rewards`."""
    round: Integers
    """The round of each case."""
    paths: list[tuple[int, ...]] | None = None
    """The observations of each case in the order of purchase, as integers; None without a log."""
    propensities: list[tuple[float, ...] | None] | None = None
    """The probability of each step (`Case.propensity`); None without a log."""
    stakes: Floats | None = None
    """How many times the reward of each case counts; None if every reward counts once."""

    @cached_property
    def observed(self) -> Integers:
        """The observations of each case, as a subset of the lattice."""
        return np.searchsorted(self.lattice.layout.offsets, self.state, side="right") - 1

    @cached_property
    def cost(self) -> Floats:
        """The amount spent in each case, on observations and on the action."""
        spent: Floats = self.lattice.costs_of(self.state) + self.lattice.action_costs[self.action]
        return spent

    @cached_property
    def gain(self) -> Floats:
        """β r − cost(a) − Σ c; if rewards are money, the reward less all that was spent.

        With a stake the reward counts that many times.
        """
        problem = self.lattice.problem
        worth = self.reward if problem.rewards else problem.reward_value * self.reward
        return (worth if self.stakes is None else self.stakes * worth) - self.cost

    def bought(self, part: slice = slice(None)) -> dict[str, float]:
        """Returns for each observation the share of the cases, or of a part of them, that bought
        it.
        """
        cases = np.bincount(self.observed[part], minlength=self.lattice.subsets)
        bought = np.zeros(self.lattice.buyable + 1)  # the last is for the −1
        for members in self.lattice.layout.members.T:
            np.add.at(bought, members, cases)
        names = self.lattice.names_of(tuple(range(self.lattice.buyable)))
        return dict(zip(names, (bought[:-1] / max(1, cases.sum())).tolist(), strict=True))

    def frame(self, kind: str = "dict") -> Any:
        """Returns one row for each case, as columns in a "dict", or a "pandas", "polars" or
        "pyarrow" frame.

        The columns are `case` (from 1), one for each observation (None if it was not bought, or
        failed), `action`, `reward`, `cost`, `gain` and `round`. If cases have a stake, it is in
        `stake`; the reward is that of a stake of 1, and the gain that of the case. A run with a log
        also has `order`, the observations in the order of purchase, and `propensity`, a number for
        each step, empty if unknown. Other runs have `bought`, the observations in the order of
        declaration. An observation with the name of another column gets a `?` after its name.
        """
        lattice = self.lattice
        columns: dict[str, list[Any]] = {"case": list(range(1, len(self) + 1))}
        for o in lattice.problem.observations:
            columns[f"{o.name}?" if o.name in COLUMNS else o.name] = self._values(o.name)
        if self.paths is None:
            sets = {
                s: ",".join(lattice.names_of(lattice.members(s)))
                for s in set(self.observed.tolist())
            }
            columns["bought"] = [sets[s] for s in self.observed.tolist()]
        else:
            columns["order"] = [",".join(lattice.names_of(path)) for path in self.paths]
        columns["action"] = [lattice.problem.action_names[a] for a in self.action.tolist()]
        columns |= {name: getattr(self, name).tolist() for name in NUMBERS}
        if self.stakes is not None:
            columns["stake"] = self.stakes.tolist()
        if self.propensities is not None:
            columns["propensity"] = [
                ",".join(f"{p:.9g}" for p in ps or ()) for ps in self.propensities
            ]
        return framed(columns, kind)

    def _values(self, name: str) -> list[Value | None]:
        """Returns the value of an observation in each case."""
        lattice, layout = self.lattice, self.lattice.layout
        i = lattice.position(name)
        place = self.state - layout.offsets[self.observed]
        outcomes: list[Value | None] = [*lattice.observations[i].outcomes, None]
        if i >= lattice.buyable:
            states = np.diff(layout.offsets)[self.observed] // lattice.contexts
            digit = place // states // layout.given[i - lattice.buyable] % lattice.outcomes[i]
        else:
            here = layout.members[self.observed] == i
            strides = np.where(here, layout.strides[self.observed], 0).sum(axis=1)
            digit = place // np.maximum(1, strides) % lattice.outcomes[i]
            digit = np.where(strides > 0, digit, len(outcomes) - 1)
        return [outcomes[x] for x in digit.tolist()]

    def plot(self) -> Figure:
        """Returns a Matplotlib figure of gain, spend and purchases a case, over the cases."""
        if not len(self):
            raise OptionError("a run without cases has nothing to plot")
        from askwise.simulation.run_plots import draw_run

        lattice = self.lattice
        sets, place = np.unique(self.observed, return_inverse=True)
        has = np.zeros((len(sets), lattice.buyable + 1))  # the last is for the −1
        has[np.arange(len(sets))[:, None], lattice.layout.members[sets]] = 1.0
        names = lattice.names_of(tuple(range(lattice.buyable)))
        bought = {name: has[place, i] for i, name in enumerate(names)}
        return draw_run(self.gain, self.cost, bought)

    def __len__(self) -> int:
        return len(self.state)

    def __repr__(self) -> str:
        mean = f" with mean gain {shown(self.gain.mean())}" if len(self) else ""
        return f"<Run of {len(self):,} cases{mean}>"

    def _repr_html_(self) -> str:
        if not len(self):
            return title("Run", "no cases")
        last = slice(-max(1, len(self) // 10), None)
        rows: list[tuple[object, ...]] = [
            (name, float(column.mean()), float(column[last].mean()))
            for name, column in (("gain", self.gain), ("reward", self.reward), ("spent", self.cost))
        ]
        late = self.bought(last)
        rows += [
            (f"bought {name}", f"{share:.1%}", f"{late[name]:.1%}")
            for name, share in self.bought().items()
        ]
        rounds = text(len(np.unique(self.round)))
        head = title("Run", f"{len(self):,} cases", f"{rounds} rounds")
        return head + table(["a case", "on average", "in the last tenth"], rows)


def simulate(
    learner: BaseLearner,
    environment: Environment,
    *,
    steps: int,
    rng: RandomSource = None,
    log: bool = False,
) -> Run:
    """Runs a learner on `steps` cases that are drawn from an environment and rewarded at once.

    learner: The learner that decides. It learns from the cases and keeps what it learned.
    environment: Where cases come from, such as `Population(model)` or a `Table`.
    steps: The number of cases.
    rng: The seed of the cases, or a `numpy.random.Generator`.
    log: Run the cases one by one, and keep the order of purchase and the propensities. The
    decisions are the same, but it is slower. Cases with stakes always run one by one.
    """
    if not isinstance(learner, BaseLearner):
        raise OptionError(f"expected a learner, such as SeqOOS(problem), got {learner!r}")
    if not hasattr(environment, "draw"):
        kind = type(environment).__name__
        raise OptionError(
            f"expected an environment, such as Population(model) or a Table, got a {kind}"
        )
    if learner.problem != environment.problem:
        raise OptionError("the learner and the environment are of two different problems")
    if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 0:
        raise OptionError(f"steps must be a whole number of at least 0, got {steps!r}")
    run = Run(
        lattice=learner.statistics.lattice,
        state=np.empty(steps, np.int64),
        action=np.empty(steps, np.int16),
        reward=np.empty(steps),
        round=np.empty(steps, np.int64),
        paths=[] if log else None,
        propensities=[] if log else None,
    )
    done, stakes = 0, list[Floats]()
    with rounds_of(learner).lock, ProgressBar("cases", steps) as progress:
        for draws in stream(environment, as_generator(rng), steps):
            part = slice(done, done + len(draws.values))
            if isinstance(draws, StakedDraws):
                stakes.append(draws.stakes)
            values = _checked_values(run.lattice, draws)
            if log or stakes:
                _play(learner, draws, run, part)
            else:
                _run(learner, values, draws.rewards, run, part)
            progress.advance(part.stop - done)
            done = part.stop
    return replace(run, stakes=np.concatenate(stakes)) if stakes else run


def _run(learner: BaseLearner, values: Choices, rewards: Floats, run: Run, part: slice) -> None:
    """Runs the cases in the compiled loop. Given values are last."""
    actions, shares = run.action[part], shares_of(rewards, run.lattice.problem.rewards)
    cases = Cases(values, shares, run.state[part], actions, run.round[part])
    rounds_of(learner).run(cases)
    run.reward[part] = rewards[np.arange(len(actions)), actions]


def _checked_values(lattice: Lattice, draws: Draws) -> Choices:
    """Returns the values of the cases, given ones last, and refuses values outside the tables.

    Such a value would make the kernels read beyond their arrays.
    """
    values, rewards = draws.values, draws.rewards
    drawn = (values.shape[1], rewards.shape[1])
    expected = (len(lattice.observations), len(lattice.problem.actions))
    if drawn != expected:
        raise ModelError(
            f"the environment drew {drawn[0]} values and {drawn[1]} rewards a case, "
            f"expected {expected[0]} and {expected[1]}"
        )
    if lattice.has_given:
        values = np.ascontiguousarray(values[:, lattice.order])
    columns = np.ascontiguousarray(values.T)  # numpy is slow along the long axis of a narrow array
    highest, lowest = columns.max(axis=1, initial=0), columns.min(axis=1, initial=0)
    wrong = np.flatnonzero((lowest < 0) | (highest >= lattice.outcomes))
    if len(wrong):
        i = int(wrong[0])
        name, most = lattice.observations[i].name, int(lattice.outcomes[i])
        raise ModelError(
            f"the environment drew a value of observation {name!r} that is not one of its {most}, "
            f"numbered from 0: {int(lowest[i])} to {int(highest[i])}"
        )
    within = lattice.problem.rewards
    low, high = within or (0.0, 1.0)
    if not (rewards.min(initial=low) >= low and rewards.max(initial=low) <= high):
        raise ModelError(
            f"the environment drew a reward that is not {range_words(within)}; {remedy(within)}"
        )
    return values


def _play(learner: BaseLearner, draws: Draws, run: Run, part: slice) -> None:
    """Play the cases one by one, and keep their paths and propensities, if they are asked for."""
    observations = learner.problem.observations
    given = [o.name for o in observations if o.given]
    stakes = [1.0] * len(draws.values)
    if isinstance(draws, StakedDraws):
        stakes = draws.stakes.tolist()
    for t, (row, stake) in enumerate(zip(draws.values.tolist(), stakes, strict=True)):
        shown = {o.name: o.outcomes[x] for o, x in zip(observations, row, strict=True)}
        case = learner.open({name: shown[name] for name in given}, stake=stake)
        at = part.start + t
        run.round[at] = rounds_of(learner).now.round
        while case.wanted:
            case.observe({name: shown[name] for name in case.wanted})
        run.state[at], run.action[at] = case.state_index, case.action_index
        run.reward[at] = draws.rewards[t, case.action_index]
        if run.paths is not None and run.propensities is not None:
            run.paths.append(tuple(i for i, _ in case.path))
            run.propensities.append(case.propensity)
        case.reward(float(run.reward[at]))
