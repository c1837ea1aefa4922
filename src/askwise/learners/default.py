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
from askwise.learners.model_strategy import ModelOptions, ModelStrategy
from askwise.policy.acquisition import acquisition_of
from askwise.problem import Budget, Problem
from askwise.problem.bins import is_number
from askwise.problem.budget import budget_of

MODELS = ("auto", "joint", "additive")


class Learner(BaseLearner):
    """The default learner. It needs no tuning, and works for few observations or for many of which
    few matter.

    The learner keeps a Bayesian model of the population and of the rewards, in which a case is
    evidence for many states. At the start of each round it draws a model near the posterior mean
    and plans the best policy for it. Some cases explore. The expected cost of exploration a case
    goes to zero, but exploration never stops.

    acquisition: "sequential" buys one observation after the other, "simultaneous" a set at once.
    model: "joint" models all combinations of values, at most 512 of them. "additive" assumes that
    few observations matter, alone and in pairs. "auto" takes the joint model if it fits.
    budget: The average spend on observations, such as `Budget(spend_per_case=2.0)` or
    `Budget(spend_per_day=400.0, cases_per_day=200)`. The learner looks for the best gain within it,
    and `recommend().shadow_price` is what one more unit of spend would add. None: no limit.
    explore: The share of the cases that may explore; `True` is all of them. The others follow the
    policy recommended at the start of their round. `False` only follows the recommendation, and
    still learns from the results.
    explore_budget: The most to lose by exploration, in the currency of the costs, compared with the
    best action without observations. When it is used up, the learner buys only what pays by a
    cautious estimate, until the loss is earned back. None: no limit.
    window, detect: Forget old cases, for a population that changes; see docs/drift.md.
    rng: The seed, or a `numpy.random.Generator`.

    >>> from askwise.simulation.environments import Population, breast_cancer
    >>> from askwise.simulation import simulate
    >>> patients = Population(breast_cancer(cost=5.0))
    >>> learner = Learner(patients.problem, rng=0)
    >>> learner
    <Learner, sequential, joint model: 0 cases, round 0>
    >>> round(float(simulate(learner, patients, steps=5_000, rng=0).gain.mean()), 1)
    79.1
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
        terms = ModelOptions(explore_budget, spend, share, forgets=forgetting is not None)
        strategy = strategy_kind(problem, model)(lattice, bought, terms)
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
        """Adds what was counted elsewhere. The next case opens under a new plan.

        `other` is a `Learner` with the same options, which does not change, or, with the joint
        model, `Statistics` in which each case counts once. Open cases stay with the other learner:
        a later reward is counted there.
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
        log = strategy.log
        own = now.statistics.cases - (log.cases if log.records is None else 0)
        cases, rounds = f"{own:,} cases", f"round {now.round:,}"
        if log.cases:
            cases = f"{cases} after {log.words}"
        bought, model = strategy.acquisition.name, strategy.model_name
        return f"<Learner, {bought}, {model} model: {cases}, {rounds}>"


def check_share(explore: object) -> float:
    """Returns the share of the cases that explore, or raises an error."""
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
