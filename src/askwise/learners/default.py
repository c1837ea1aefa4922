"""The default: a model × either acquisition × exploration by tags × growing rounds."""

from __future__ import annotations

from askwise._support.typing import RandomSource
from askwise.counting import Statistics
from askwise.counting.forgetting import forgetting_of
from askwise.errors import OptionError, StatisticsError
from askwise.estimation.joint import MOST_CELLS, count_cells
from askwise.learners.additive_strategy import AdditiveStrategy
from askwise.learners.explore_budget import check_explore_budget
from askwise.learners.joint_strategy import JointStrategy
from askwise.learners.learner import BaseLearner, lattice_of
from askwise.learners.model_strategy import ModelStrategy
from askwise.policy.acquisition import acquisition_of
from askwise.problem import Budget, Problem
from askwise.problem.bins import is_number
from askwise.problem.budget import budget_of

MODELS = ("auto", "joint", "additive")


class Learner(BaseLearner):
    """Good without tuning, early and late, for few observations or many of which few matter.

    It keeps a model of what there is to see and to earn, in which a case counts for far more than
    the state it acted in. At the beginning of a round it draws a world from it, near the mean, and
    plans for that world. Now and then it tries something else, more and more seldom: it never stops
    looking for what it may have missed, at a price per case that goes to zero.

    acquisition: "sequential" or "simultaneous".
    model: "joint" is one model of all combinations of values (`joint_strategy.py`), of at most
    512; "additive" expects that few observations matter, by themselves and in pairs
    (`additive_strategy.py`); "auto" is joint if it can be.
    budget: what cases may spend on observations on average, `Budget(spend_per_case=2.0)` or
    `Budget(spend_per_day=400.0, cases_per_day=200)`: the best gain within that. `recommend()` says
    what one more to spend would add, its shadow price. None: as much as pays.
    explore: the share of the cases that explore, as of `True`, all of them. The others follow what
    is recommended when their round begins: `explore=False` is for those who want just that, and
    learn from what comes of it.
    explore_budget: the most to lose by trying, in the currency of the costs, compared with the best
    action taken blindly. When it is used up, the learner buys only what pays by cautious estimates,
    else nothing, until it has earned the loss back. None: no limit.
    window, detect: forget, for a world that changes; see docs/drift.md.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = Learner(patients.problem, rng=0)
    >>> learner
    <Learner, sequential, joint model: 0 cases, round 0>
    >>> round(float(simulate(learner, patients, steps=5_000, rng=0).gain.mean()), 1)
    78.4
    """

    name = "learner"

    def __init__(
        self,
        problem: Problem,
        *,
        acquisition: str = "sequential",
        model: str = "auto",
        budget: Budget | None = None,
        explore: bool | float = True,
        explore_budget: float | None = None,
        window: int | None = None,
        detect: bool = False,
        rng: RandomSource = None,
    ) -> None:
        bought = acquisition_of(acquisition)
        if model not in MODELS:
            raise OptionError(f"model must be 'auto', 'joint' or 'additive', got {model!r}")
        spend, explore_budget = budget_of(budget), check_explore_budget(explore_budget)
        share = check_share(explore)
        lattice = lattice_of(problem)
        forgetting = forgetting_of(window, detect=detect, states=lattice.size)
        if forgetting is not None and explore_budget is not None:
            raise OptionError("explore_budget counts all cases: not with window or detect")
        strategy = strategy_kind(problem, model)(
            lattice,
            bought,
            explore_budget=explore_budget,
            budget=spend,
            explore=share,
            forgets=forgetting is not None,
        )
        options = {
            "acquisition": acquisition,
            "model": model,
            "budget": spend,
            "explore": explore,
            "explore_budget": explore_budget,
            "window": window,
            "detect": detect,
        }
        super().__init__(lattice, strategy, options, rng=rng, forgetting=forgetting)

    def merge(self, other: Statistics | BaseLearner) -> None:
        """Learn from cases that were counted elsewhere; the next case opens under a new plan.

        `other` is a `Learner` with the same options, which stays as it is, or, with the joint
        model, `Statistics` of cases that each count once. Cases that the other has open stay its
        own: a reward that comes later is counted there.
        """
        if isinstance(other, Statistics) and other.records:
            raise StatisticsError(
                "learner counts each case once, in the state that was acted in, but complete "
                "records count in every state: use seq-oos or sim-oos, or begin with the log, "
                "aw.fit(...).learner()"
            )
        if isinstance(other, Learner) and other._strategy.log.records is not None:
            raise StatisticsError(
                "the other learner began with complete records, which are not in its statistics: "
                "merge this one into it"
            )
        super().merge(other)

    @property
    def _strategy(self) -> ModelStrategy:
        strategy = self._rounds.strategy
        assert isinstance(strategy, ModelStrategy)
        return strategy

    def __repr__(self) -> str:
        now, strategy = self._rounds.now, self._strategy
        logged, records = strategy.log
        own = now.statistics.cases - (logged if records is None else 0)
        cases, rounds = f"{own:,} cases", f"round {now.round:,}"
        if logged:
            kind = "logged decisions" if records is None else "complete records"
            cases = f"{cases} after {logged:,} {kind}"
        bought, model = strategy.acquisition.name, strategy.model_name
        return f"<Learner, {bought}, {model} model: {cases}, {rounds}>"


def check_share(explore: object) -> float:
    """The share of the cases that explore, or an error that names what was said instead."""
    if isinstance(explore, bool):
        return float(explore)
    if is_number(explore) and 0 <= explore <= 1:  # type: ignore[operator]
        return float(explore)  # type: ignore[arg-type]
    raise OptionError(
        f"explore must be True, False, or a share of the cases from 0 to 1, got {explore!r}"
    )


def strategy_kind(problem: Problem, model: str) -> type[JointStrategy | AdditiveStrategy]:
    """The strategy of the model that is asked for, or that fits the problem."""
    if model == "auto":
        model = "joint" if count_cells(problem) <= MOST_CELLS else "additive"
    return JointStrategy if model == "joint" else AdditiveStrategy
