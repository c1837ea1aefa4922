"""Many cases fast: the same decisions as the case-by-case face, bit for bit.

The compiled loop keeps the state that a case acted in, which does not say in which order things
were bought, nor how likely that was. `simulate(…, log=True)` plays the same cases one by one and
keeps both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from askwise._support.frames import framed
from askwise._support.html import table, text, title
from askwise._support.numbers import shown
from askwise._support.progress import Progress
from askwise._support.random import as_generator
from askwise._support.typing import Choices, Floats, Integers, RandomSource
from askwise.errors import ModelError, OptionError
from askwise.learners import BaseLearner
from askwise.learners.learner import rounds_of
from askwise.learners.strategy import Cases
from askwise.problem import Value
from askwise.problem.rewards import range_words, remedy, shares_of
from askwise.simulation.environments.base import Draws, Environment, stream
from askwise.states import Lattice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NUMBERS = ("reward", "cost", "gain", "round")
COLUMNS = ("case", "bought", "order", "action", *NUMBERS, "propensity")
"""Of a frame, beside the observations."""


@dataclass(frozen=True)
class Run:
    """What happened, a row a case."""

    lattice: Lattice
    state: Integers
    """What was known when acting, as integers of the lattice."""
    action: Choices
    """What was done, as places among the actions."""
    reward: Floats
    """As it was told: in the currency if the problem has `rewards`."""
    round: Integers
    """The number of the round each case belonged to."""
    paths: list[tuple[int, ...]] | None = None
    """What was bought, in order, as places in the lattice; None unless it was logged."""
    propensities: list[tuple[float, ...] | None] | None = None
    """How likely each step was (`Case.propensity`); None unless it was logged."""

    @cached_property
    def observed(self) -> Integers:
        """What was bought, as subsets of the lattice."""
        return np.searchsorted(self.lattice.layout.offsets, self.state, side="right") - 1

    @cached_property
    def cost(self) -> Floats:
        """What was spent in each case, on observations and on the action."""
        spent: Floats = self.lattice.costs_of(self.state) + self.lattice.action_costs[self.action]
        return spent

    @cached_property
    def gain(self) -> Floats:
        """β r − cost(a) − Σ c; where rewards are money, what they are less all that was spent."""
        problem = self.lattice.problem
        worth = self.reward if problem.rewards else problem.reward_value * self.reward
        return worth - self.cost

    def bought(self, part: slice = slice(None)) -> dict[str, float]:
        """For each observation the share of the cases, or of a part of them, that bought it."""
        cases = np.bincount(self.observed[part], minlength=self.lattice.subsets)
        bought = np.zeros(self.lattice.buyable + 1)  # the last is for the −1
        for members in self.lattice.layout.members.T:
            np.add.at(bought, members, cases)
        names = self.lattice.names_of(tuple(range(self.lattice.buyable)))
        return dict(zip(names, (bought[:-1] / max(1, cases.sum())).tolist(), strict=True))

    def frame(self, kind: str = "dict") -> Any:
        """A row a case, as columns in a "dict", or a "pandas", "polars" or "pyarrow" frame.

        `case` from 1, a column for each observation (None if it was not bought, or failed), then
        `action`, `reward`, `cost`, `gain`, `round`. What was bought, separated by commas, is
        `order` in a run that was logged, and has the `propensity` beside it: a number for each
        step, empty if it is not known. In other runs it is `bought`, in the order of declaration.
        An observation that is named like another column gets a `?` behind its name.
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
        if self.propensities is not None:
            columns["propensity"] = [
                ",".join(f"{p:.9g}" for p in ps or ()) for ps in self.propensities
            ]
        return framed(columns, kind)

    def _values(self, name: str) -> list[Value | None]:
        """What was seen of an observation in each case."""
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
        """A Matplotlib figure: gain and spend a case, and what was bought, over the cases."""
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
    """Let the learner decide `steps` cases drawn from the environment, each rewarded at once.

    log: play them one by one, and keep the order of looks and how likely each step was. It decides
    the same, more slowly.
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
    done = 0
    with rounds_of(learner).lock, Progress("cases", steps) as progress:
        for draws in stream(environment, as_generator(rng), steps):
            part = slice(done, done + len(draws.values))
            (_play if log else _run)(learner, draws, run, part)
            progress.advance(part.stop - done)
            done = part.stop
    return run


def _run(learner: BaseLearner, draws: Draws, run: Run, part: slice) -> None:
    """In the compiled loop."""
    values, actions = _checked_values(run.lattice, draws), run.action[part]
    shares = shares_of(draws.rewards, run.lattice.problem.rewards)
    cases = Cases(values, shares, run.state[part], actions, run.round[part])
    rounds_of(learner).run(cases)
    run.reward[part] = draws.rewards[np.arange(len(actions)), actions]


def _checked_values(lattice: Lattice, draws: Draws) -> Choices:
    """The values of the cases, what is given last; what an environment may not draw is refused.

    It would lead the kernels out of their tables.
    """
    values, rewards = draws
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
    """Play the cases one by one, and keep their paths and propensities."""
    assert run.paths is not None
    assert run.propensities is not None
    observations = learner.problem.observations
    given = [o.name for o in observations if o.given]
    for t, row in enumerate(draws.values.tolist()):
        shown = {o.name: o.outcomes[x] for o, x in zip(observations, row, strict=True)}
        case = learner.open({name: shown[name] for name in given})
        at = part.start + t
        run.round[at] = rounds_of(learner).now.round
        while case.wanted:
            case.observe({name: shown[name] for name in case.wanted})
        run.state[at], run.action[at] = case.state_index, case.action_index
        run.reward[at] = draws.rewards[t, case.action_index]
        run.paths.append(tuple(i for i, _ in case.path))
        run.propensities.append(case.propensity)
        case.reward(float(run.reward[at]))
