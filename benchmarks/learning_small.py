"""Small populations to learn on, each with its exact oracles.

    score = (mean gain of the first n cases − blind) / (oracle − blind)

`blind` is the best gain without any information, `oracle` the best gain of all. Where the
sequential oracle is within 1 % of β of `blind` the score means nothing: there `entry.is_worthless`,
and what counts is the regret a case.

Every entry belongs to one half. Constants of a learner are chosen on the "chosen-on" half only; the
"kept-aside" half has an entry of the same character for each and is only reported on. The halves
were assigned before anything was measured. Reports were looked at more than once while the learner
grew, so there is a third part, "untouched", to be measured only when a learner is done:
docs/decisions-learning.md says how often it was. One entry was replaced: nothing was to be gained
there.

Everything here is drawn with fixed seeds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from askwise import Model, Observation, Problem, oracle
from askwise.simulation.environments import (
    Draws,
    Environment,
    Population,
    breast_cancer,
    random_model,
)

REWARD_VALUE = 100.0
WORTHLESS = 0.01
"""Information worth less than this part of β is worth nothing."""

Half = Literal["chosen-on", "kept-aside", "untouched"]
CHOSEN: Half = "chosen-on"
ASIDE: Half = "kept-aside"
UNTOUCHED: Half = "untouched"


class Graded:
    """Cases of a model whose rewards are not 0 or 1 but anything around their mean.

    The reward of action a in φ is r̄ + s · min(r̄, 1 − r̄) · u with u uniform on [−1, 1], the same u
    for all actions: its mean is r̄(a, φ), and it stays in [0, 1].
    """

    def __init__(self, model: Model, *, spread: float) -> None:
        self.model = model
        self.spread = spread

    @property
    def problem(self) -> Problem:
        """The model's problem."""
        return self.model.problem

    def draw(self, rng: np.random.Generator, cases: int) -> Draws:
        """Independent cases."""
        values = self.model.sample(rng, cases)
        mean = self.model.reward[tuple(values.T)]
        luck = rng.uniform(-self.spread, self.spread, cases)[:, None]
        rewards = np.clip(mean + luck * np.minimum(mean, 1 - mean), 0.0, 1.0)
        return Draws(values.astype(np.int16), rewards)


@dataclass(frozen=True)
class Entry:
    """A population, and what there is to gain in it."""

    name: str
    half: Half
    model: Model
    spread: float | None = None
    """None: rewards are 0 or 1; else how far they spread around their mean, as in `Graded`."""

    @cached_property
    def environment(self) -> Environment:
        """Where its cases come from."""
        if self.spread is None:
            return Population(self.model)
        return Graded(self.model, spread=self.spread)

    @cached_property
    def blind(self) -> float:
        """The best gain without any information."""
        return oracle.fixed(self.model, []).value

    @cached_property
    def simultaneous(self) -> float:
        """The best gain when buying a set at once."""
        return oracle.simultaneous(self.model).value

    @cached_property
    def sequential(self) -> float:
        """The best gain when buying one after the other."""
        return oracle.sequential(self.model).value

    @property
    def is_worthless(self) -> bool:
        """Whether information is worth (almost) nothing here."""
        return self.sequential - self.blind < WORTHLESS * REWARD_VALUE


# --- the table -----------------------------------------------------------------------------------


def entries() -> list[Entry]:
    """All of them: a pair of each character, one in each half, and some more of both."""
    return [
        Entry("clinic at 5", CHOSEN, breast_cancer(5.0)),
        Entry("clinic at 20", CHOSEN, breast_cancer(20.0)),
        Entry("clinic at 1", ASIDE, breast_cancer(1.0)),
        Entry("clinic at 12", ASIDE, breast_cancer(12.0)),
        Entry("parity of two", CHOSEN, parity(relevant=2, others=2, cost=4.0)),
        Entry("parity of three", ASIDE, parity(relevant=3, others=1, cost=3.0)),
        Entry("triage", CHOSEN, triage(wards=3, cheap=2.0, dear=6.0)),
        Entry("triage, four wards", ASIDE, triage(wards=4, cheap=1.0, dear=9.0)),
        Entry("one decisive look", CHOSEN, decisive(cost=30.0, decoys=3)),
        Entry("one decisive look, dearer", ASIDE, decisive(cost=36.0, decoys=2)),
        Entry("useless looks", CHOSEN, worthless(cost=3.0, accuracy=0.5)),
        Entry("looks dearer than they are worth", ASIDE, worthless(cost=12.0, accuracy=0.58)),
        Entry("looks worth almost nothing", CHOSEN, worthless(cost=4.5, accuracy=0.6)),
        Entry("cheap looks worth almost nothing", ASIDE, worthless(cost=1.5, accuracy=0.555)),
        Entry("six weak binaries", CHOSEN, weak(binaries=6, cost=1.5, pull=0.9)),
        Entry("seven weak binaries", ASIDE, weak(binaries=7, cost=1.0, pull=0.8)),
        Entry("duplicates", CHOSEN, duplicates(accuracies=(0.95, 0.85, 0.75), costs=(12, 5, 2))),
        Entry("duplicates, four", ASIDE, duplicates((0.9, 0.9, 0.8, 0.8), (9, 8, 4, 3))),
        Entry("rare state", CHOSEN, rare(share=0.06, cost=1.5)),
        Entry("rare state, rarer", ASIDE, rare(share=0.04, cost=0.8)),
        Entry("graded", CHOSEN, graded(seed=15, values=(3, 3, 2), actions=3, cost=3.0), 0.8),
        Entry("graded, finer", ASIDE, graded(seed=12, values=(4, 3, 3), actions=4, cost=2.0), 0.5),
        Entry("eight actions", CHOSEN, diagnosis(actions=8, accuracy=0.85, cost=4.0)),
        Entry("ten actions", ASIDE, diagnosis(actions=10, accuracy=0.9, cost=5.0)),
        Entry("random 4×4×3", CHOSEN, anything(1, (4, 4, 3), actions=3, m=2)),
        Entry("random 2×2×2×2×2", CHOSEN, anything(2, (2, 2, 2, 2, 2), actions=2, m=3)),
        Entry("random 3×3×3×2", ASIDE, anything(3, (3, 3, 3, 2), actions=4, m=3)),
        Entry("random 5×4", ASIDE, anything(4, (5, 4), actions=3, m=2)),
        Entry("network", CHOSEN, network(21, (2, 3, 2, 2, 3), actions=3, cost=3.0)),
        Entry("network, larger", ASIDE, network(22, (3, 2, 3, 2, 2, 2), actions=4, cost=2.0)),
        Entry("clinic at 16", UNTOUCHED, breast_cancer(16.0)),
        Entry("parity of two among five", UNTOUCHED, parity(relevant=2, others=3, cost=6.0)),
        Entry("triage, cheaper", UNTOUCHED, triage(wards=3, cheap=3.0, dear=4.0)),
        Entry("decisive, four decoys", UNTOUCHED, decisive(cost=25.0, decoys=4)),
        Entry("looks worth nothing", UNTOUCHED, worthless(cost=2.0, accuracy=0.54)),
        Entry("six weaker binaries", UNTOUCHED, weak(binaries=6, cost=1.0, pull=0.7)),
        Entry(
            "graded, other", UNTOUCHED, graded(seed=32, values=(3, 4, 2), actions=3, cost=2.0), 0.6
        ),
        Entry("six actions", UNTOUCHED, diagnosis(actions=6, accuracy=0.8, cost=3.0)),
        Entry("random 3×4×4", UNTOUCHED, anything(32, (3, 4, 4), actions=3, m=2)),
        Entry("network, other", UNTOUCHED, network(33, (2, 2, 3, 3, 2), actions=3, cost=4.0)),
    ]


# --- the characters ------------------------------------------------------------------------------


def parity(*, relevant: int, others: int, cost: float) -> Model:
    """The better of two actions is the parity of some fair coins; one coin alone says nothing."""
    binaries = relevant + others
    problem = _problem([2] * binaries, [cost] * binaries, actions=2, m=3)
    model = _Cells(problem)
    for full in model:
        odd = sum(full[:relevant]) % 2
        model.reward[full] = (0.1, 0.9) if odd else (0.9, 0.1)
    return model.done(np.ones(model.shape))


def triage(*, wards: int, cheap: float, dear: float) -> Model:
    """A cheap look says which of the dear ones is worth buying: one after the other pays."""
    problem = _problem([wards] + [2] * wards, [cheap] + [dear] * wards, actions=wards + 1, m=2)
    model = _Cells(problem)
    for full in model:
        ward = full[0]
        ill = full[1 + ward] == 1
        reward = np.full(wards + 1, 0.1)
        reward[ward] = 0.9 if ill else 0.2
        reward[wards] = 0.3 if ill else 0.85
        model.reward[full] = reward
    return model.done(np.ones(model.shape))


def decisive(*, cost: float, decoys: int) -> Model:
    """One dear look settles everything; the cheap ones beside it say nothing."""
    problem = _problem([3] + [2] * decoys, [cost] + [2.0] * decoys, actions=3, m=3)
    model = _Cells(problem)
    for full in model:
        model.reward[full] = np.where(np.arange(3) == full[0], 0.97, 0.05)
    return model.done(np.ones(model.shape))


def worthless(*, cost: float, accuracy: float) -> Model:
    """Signs that point to the better of two actions, hardly or not at all, at a price.

    Action 0 is right in 55 % of all cases; each sign is right with the given probability.
    """
    problem = _problem([2, 2, 3], [cost] * 3, actions=2, m=3)
    model = _Cells(problem)
    p = np.empty(model.shape)
    for full in model:
        joint = [0.55, 0.45]
        for sign in full[:2]:
            joint = [
                j * (accuracy if sign == truth else 1 - accuracy) for truth, j in enumerate(joint)
            ]
        p[full] = sum(joint) / 3
        model.reward[full] = np.array(joint) / sum(joint)
    return model.done(p)


def weak(*, binaries: int, cost: float, pull: float) -> Model:
    """Many signs, each of which shifts the log-odds a little."""
    problem = _problem([2] * binaries, [cost] * binaries, actions=2, m=3)
    pulls = pull * np.linspace(1.2, 0.4, binaries)
    model = _Cells(problem)
    for full in model:
        odds = float(np.dot(pulls, 2 * np.array(full) - 1))
        model.reward[full] = _logistic(odds), _logistic(-odds)
    return model.done(np.ones(model.shape))


def duplicates(accuracies: Sequence[float], costs: Sequence[float]) -> Model:
    """Noisy copies of one hidden state of three, the better ones dearer."""
    problem = _problem([3] * len(costs), costs, actions=3, m=3)
    model = _Cells(problem)
    p = np.empty(model.shape)
    for full in model:
        joint = np.array([0.5, 0.3, 0.2])
        for sign, accuracy in zip(full, accuracies, strict=True):
            joint *= np.where(np.arange(3) == sign, accuracy, (1 - accuracy) / 2)
        p[full] = joint.sum()
        model.reward[full] = 0.05 + 0.9 * joint / joint.sum()
    return model.done(p)


def rare(*, share: float, cost: float) -> Model:
    """A state that is rare, and in which the usual action is a disaster.

    Two signs together tell; a third look says nothing.
    """
    problem = _problem([2, 3, 2], [cost] * 3, actions=3, m=3)
    model = _Cells(problem)
    p = np.empty(model.shape)
    for full in model:
        alarm, grade, _ = full
        p[full] = (4 * share if alarm else 1 - 4 * share) * (0.5, 0.25, 0.25)[grade] / 2
        grave = alarm == 1 and grade == 2
        model.reward[full] = (0.0, 0.9, 0.3) if grave else (0.85, 0.35, 0.3)
    return model.done(p)


def graded(*, seed: int, values: tuple[int, ...], actions: int, cost: float) -> Model:
    """Rewards that rise and fall smoothly with main effects and a few pairs."""
    rng = np.random.default_rng(seed)
    problem = _problem(values, [cost] * len(values), actions=actions, m=3)
    model = _Cells(problem)
    mains = [rng.normal(0, 0.16, (n, actions)) for n in values]
    pair = rng.normal(0, 0.12, (values[0], values[1], actions))
    for full in model:
        effect = sum(main[x] for main, x in zip(mains, full, strict=True)) + pair[full[:2]]
        model.reward[full] = np.clip(0.5 + effect, 0.02, 0.98)
    return model.done(rng.dirichlet(3 * np.ones(model.cells)).reshape(model.shape))


def diagnosis(*, actions: int, accuracy: float, cost: float) -> Model:
    """One right action among many; two looks tell which, a third says nothing."""
    half = actions // 2
    problem = _problem([2, half, 3], [cost / 2, cost, cost], actions=actions, m=2)
    model = _Cells(problem)
    for full in model:
        right = full[0] * half + full[1]
        model.reward[full] = np.where(np.arange(actions) == right, accuracy, 0.15)
    return model.done(np.ones(model.shape))


def anything(seed: int, values: tuple[int, ...], *, actions: int, m: int) -> Model:
    """No structure at all: every number drawn uniformly."""
    return random_model(
        np.random.default_rng(seed),
        values,
        actions=actions,
        max_observations=m,
        reward_value=REWARD_VALUE,
        highest_cost=5.0,
    )


def network(seed: int, values: tuple[int, ...], *, actions: int, cost: float) -> Model:
    """A Bayesian network: each observation has up to two parents among the two before it.

    The best action depends on a hidden cause of the first three.
    """
    rng = np.random.default_rng(seed)
    costs = [round(float(cost * c), 2) for c in rng.uniform(0.5, 1.5, len(values))]
    model = _Cells(_problem(values, costs, actions=actions, m=3))
    tables = [
        rng.dirichlet(np.ones(n), size=tuple(values[max(0, i - 2) : i]))
        for i, n in enumerate(values)
    ]
    cause = rng.dirichlet(0.35 * np.ones(actions), size=values[:3])
    p = np.empty(model.shape)
    for full in model:
        p[full] = np.prod([t[full[max(0, i - 2) : i + 1]] for i, t in enumerate(tables)])
        model.reward[full] = 0.1 + 0.8 * cause[full[:3]]
    return model.done(p)


# --- helpers -------------------------------------------------------------------------------------


class _Cells:
    """The full states of a problem with their rewards, to be filled in one by one."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.shape = tuple(len(o.values) for o in problem.observations)
        self.cells = int(np.prod(self.shape))
        self.reward = np.empty((*self.shape, len(problem.actions)))

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return iter(np.ndindex(*self.shape))

    def done(self, weight: np.ndarray) -> Model:
        """The model, its probabilities proportional to the weights."""
        return Model(self.problem, weight / weight.sum(), self.reward)


def _problem(values: Sequence[int], costs: Sequence[float], *, actions: int, m: int) -> Problem:
    return Problem(
        observations=[
            Observation(f"o{i}", values=list(range(n)), cost=float(cost))
            for i, (n, cost) in enumerate(zip(values, costs, strict=True))
        ],
        actions=[f"a{a}" for a in range(actions)],
        max_observations=min(m, len(values)),
        reward_value=REWARD_VALUE,
    )


def _logistic(odds: float) -> float:
    return float(1 / (1 + np.exp(-odds)))
