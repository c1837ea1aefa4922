"""The best policies if p and r̄ are known: the planners with true numbers and zero radii.

Values closer than 10⁻¹² of β are ties. Marginals are sums in different orders, and a rounding error
must not cause a free but useless purchase.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from askwise._support.typing import Floats
from askwise.errors import ModelError, OptionError
from askwise.estimation.evidence import TIE_TOLERANCE, Beliefs, CountedEvidence, Evidence
from askwise.estimation.models import Model
from askwise.estimation.shrinkage import PARENT_RECORDS
from askwise.planning import look_values as planned_look_values
from askwise.planning import plan_sequential, plan_set_from, plan_simultaneous
from askwise.planning.advantage import Luck, plan_paths_by_advantage, plan_sets_by_advantage
from askwise.policy.budgeted import (
    Line,
    Plan,
    at_prices_of,
    best_within,
    frontier_of,
    line_of,
)
from askwise.policy.frontier import Frontier, Point
from askwise.policy.policy import Policy
from askwise.policy.tables import PathTable, SetTable
from askwise.problem import Budget, Seen, Value
from askwise.problem.amounts import check_stake
from askwise.states import Lattice

LUCK_CHARGE = 1.0
"""The charge of an observation, as a multiple of its apparent worth by chance."""


def simultaneous(
    model: Model,
    *,
    known: Mapping[str, Value | None] | None = None,
    budget: Budget | None = None,
    stake: float = 1.0,
) -> Policy:
    """Returns the best set with its actions, π*_m = (I*_m, h*). Its value is ρ*_m.

    With `known`, {name: value}, it is the best set for a case with these given values and values on
    file. Its value is then that of such a case. With a `budget` it is the best policy within that
    average spend. With a `stake` it is the best for cases whose reward counts that many times, and
    so is its value.
    """
    truth = _truth(model, stake)
    if budget is not None:
        if known is not None:
            raise ModelError("a budget is for all cases, known= for one: say one of them")
        return _best_within(truth, best_set, budget)
    if known is None:
        return best_set(truth.lattice, truth)
    start = truth.lattice.index(known)
    lattice = truth.lattice.priced({}, truth.lattice.domain(start))
    estimates = truth.estimates("sequential")  # with values on file, p is indexed by slot
    plan = plan_set_from(lattice, estimates, start, margin=_margin(lattice))
    table = SetTable(lattice, plan.sets, estimates.action, plan.values)
    return Policy(table, frequency=_frequency(truth))


def fixed(model: Model, observations: Sequence[str], *, stake: float = 1.0) -> Policy:
    """Returns the fixed-I oracle: it buys exactly these observations, then takes the best action.

    Its value is V(I), for cases with this stake.
    """
    if isinstance(observations, str):
        raise ModelError(f"observations must be a list of names, got {observations!r}")
    truth = _truth(model, stake)
    lattice = truth.lattice
    chosen = tuple(sorted({lattice.to_buy(name) for name in observations}))
    if len(chosen) > model.problem.m:
        raise ModelError(f"{len(chosen)} observations, expected at most {model.problem.m}")
    subset = lattice.subset(chosen)
    for i in chosen:
        lacking = tuple(j for j in lattice.requires[i] if j not in chosen)
        if lacking:
            others = ", ".join(lattice.names_of(lacking))
            raise ModelError(f"{lattice.names_of((i,))[0]!r} requires {others}: buy that too")
    sets = np.full(lattice.contexts, subset)
    best = best_set(lattice, truth)
    table = SetTable(lattice, sets, best.actions, best.values)
    return Policy(table, frequency=best.frequency).rests_on(lambda: truth)


def sequential(model: Model, *, budget: Budget | None = None, stake: float = 1.0) -> Policy:
    """Returns the best policy that buys one observation after the other, π* = (g*, h*).

    Its value is F*_0. With a `budget` it is the best policy within that average spend, in general a
    mixture of two policies. Its `shadow_price` is what one more unit of spend a case would add.
    With a `stake` it is the best for cases whose reward counts that many times, and so is its
    value.

    >>> from askwise import Model, Observation, Problem
    >>> model = Model(
    ...     Problem(
    ...         observations=[Observation("mri", values=["neg", "pos"], cost=9)],
    ...         actions=["wait", "treat"],
    ...         reward_value=100,
    ...     ),
    ...     probability=[0.8, 0.2],
    ...     reward=[[1.0, 0.5], [0.0, 1.0]],
    ... )
    >>> policy = sequential(model)
    >>> policy.value
    91.0
    >>> print(policy.tree())
                    cases  spent  gain  stopping here
    buy mri (9)      100%    0.0  91.0  wait 80.0
    ├─ neg → wait     80%    9.0  91.0
    └─ pos → treat    20%    9.0  91.0
    >>> halved = sequential(model, budget=Budget(spend_per_case=4.5))
    >>> halved.value, round(halved.shadow_price, 4)
    (85.5, 1.2222)
    >>> sequential(model, stake=3.0).value
    291.0
    """
    truth = _truth(model, stake)
    if budget is not None:
        return _best_within(truth, best_path, budget)
    return best_path(truth.lattice, truth)


def frontier(
    model: Model | Evidence, *, acquisition: str = "sequential", stake: float = 1.0
) -> Frontier:
    """Returns the highest gain at every average spend, with the policies that reach it. Gains are
    those of cases with this stake.

    `model` may also be what a learner estimates, `learner.evidence()`. The means of the estimates
    are then taken as if they were sure. That needs a model of all states, which there is none of
    with very many combinations of values.

    >>> from askwise.simulation.environments import breast_cancer
    >>> print(frontier(breast_cancer(cost=5.0)))
    spend  gain  one more adds
     0.00  42.2           3.82
     9.04  76.7           3.46
    10.38  81.4           2.55
    10.61  81.9           2.26
    11.02  82.9           1.67
    11.34  83.4           0.00
    """
    if isinstance(model, CountedEvidence):
        raise ModelError("the learner estimates states one by one: there is no model of all states")
    truth = _truth(model, stake)
    if acquisition not in ("sequential", "simultaneous"):
        raise ModelError(f"acquisition must be 'sequential' or 'simultaneous', got {acquisition!r}")
    plan = _plan(truth, best_path if acquisition == "sequential" else best_set)
    problem = truth.lattice.problem
    lines, lowest = frontier_of(plan, problem.reward_value), problem.lowest_reward
    return Frontier(tuple(Point(x.spend, lowest + x.gain, _priced(truth, x.policy)) for x in lines))


def look_values(
    model: Model, state: Mapping[str, Seen] | None = None, *, stake: float = 1.0
) -> dict[str | None, float]:
    """Returns Q*(ψ, i), the value of every possible next step in a `state`, {name: value}.

    The keys are the names of the observations, and None for ∅, acting at once. The largest value is
    F*(ψ). With a `stake`, the reward of the case counts that many times.

    >>> from askwise.simulation.environments import breast_cancer
    >>> worth = look_values(breast_cancer(cost=5.0), {"WHO score": 0})
    >>> {name: round(value, 1) for name, value in worth.items()}
    {None: 37.0, 'age': 76.3, 'estrogen receptor': 81.4, 'tumour stage': 60.8}
    """
    truth = _truth(model, stake)
    lattice = truth.lattice
    known = lattice.index({} if state is None else state)
    if truth.probability[known] == 0.0:
        raise ModelError(f"{dict(state or {})!r} never comes in this model: its probability is 0")
    estimates = truth.estimates("sequential")
    values = plan_sequential(lattice, estimates).values
    worth = planned_look_values(lattice, estimates, values)[known]
    stop = lattice.problem.reward_value * float(estimates.reward[known])
    lowest = lattice.problem.lowest_reward
    found: dict[str | None, float] = {None: lowest + stop}
    for i in np.flatnonzero(np.isfinite(worth)).tolist():
        found[lattice.names_of((i,))[0]] = lowest + float(worth[i])
    return found


def best_set(lattice: Lattice, beliefs: Beliefs) -> Policy:
    """Returns the best set at the prices of a lattice, if the beliefs are true."""
    estimates, margin = beliefs.estimates("simultaneous"), _margin(lattice)
    if beliefs.averages_out:
        plan = plan_simultaneous(lattice, estimates, margin=margin)
    else:
        plan = plan_sets_by_advantage(
            lattice, beliefs.probability, beliefs.cautious_rewards(), margin=margin
        )
    table = SetTable(lattice, plan.sets, estimates.action, plan.values)
    return Policy(table, frequency=_frequency(beliefs)).rests_on(lambda: beliefs)


def best_path(lattice: Lattice, beliefs: Beliefs) -> Policy:
    """Returns the best sequential policy at the prices of a lattice, if the beliefs are true."""
    estimates, margin = beliefs.estimates("sequential"), _margin(lattice)
    if beliefs.averages_out:
        plan = plan_sequential(lattice, estimates, margin=margin)
    else:
        rewards, luck = beliefs.cautious_rewards(), _luck(beliefs)
        plan = plan_paths_by_advantage(
            lattice, beliefs.probability, rewards, margin=margin, luck=luck
        )
    table = PathTable(lattice, plan.look, estimates.action, plan.values)
    return Policy(table, frequency=_frequency(beliefs)).rests_on(lambda: beliefs)


def _luck(beliefs: Beliefs) -> Luck | None:
    """Returns the charge of observations for shrunk estimates; None if the rewards are known.

    The variance of one reward is the variance of a mean times the records behind that mean.
    """
    if beliefs.variance is None:
        return None
    cases = beliefs.probability * beliefs.cases
    of_one = beliefs.variance * (cases + PARENT_RECORDS)[:, None]
    best = beliefs.lattice.net(beliefs.reward).argmax(axis=1)
    spread = np.sqrt(of_one + of_one[np.arange(len(best)), best][:, None])
    return Luck(cases, spread, np.full(beliefs.lattice.subsets, PARENT_RECORDS), LUCK_CHARGE)


def _plan(truth: Beliefs, best: Callable[[Lattice, Beliefs], Policy]) -> Plan:
    lattice, every = truth.lattice, np.arange(truth.lattice.size)
    net = lattice.net(truth.reward)

    def plan(price: float) -> Line:
        policy = best(lattice.at_rate(1.0 + price), truth)
        return line_of(policy, lattice, truth.probability, net[every, policy.actions])

    return plan


def _best_within(
    truth: Beliefs, best: Callable[[Lattice, Beliefs], Policy], budget: Budget
) -> Policy:
    """Returns the best mixture within a budget, if the beliefs are true."""
    if not isinstance(budget, Budget):
        raise OptionError(f"budget must be a Budget, got {budget!r}")
    beta = truth.lattice.problem.reward_value
    within = best_within(_plan(truth, best), budget.per_case, beta)
    return within.mixed(lambda policy: _priced(truth, policy))


def _priced(truth: Beliefs, policy: Policy) -> Policy:
    """Returns a policy that was planned at higher prices, at the prices of the problem."""
    reward = truth.lattice.net(truth.reward)[np.arange(truth.lattice.size), policy.actions]
    table = at_prices_of(truth.lattice, policy, truth.probability, reward)
    return Policy(table, frequency=policy.frequency).rests_on(lambda: truth)


def _margin(lattice: Lattice) -> float:
    return TIE_TOLERANCE * lattice.problem.reward_value


def _frequency(beliefs: Beliefs) -> Floats | None:
    """Returns the probability of every context, if there are several."""
    contexts = beliefs.lattice.contexts
    return None if contexts == 1 else np.array(beliefs.probability[:contexts])


def _truth(model: Model | Evidence, stake: float) -> Beliefs:
    if isinstance(model, Beliefs):
        own = model.standalone().as_certain()
        return own.at_stake(check_stake(stake, own.lattice.problem.reward_value))
    if not isinstance(model, Model):
        kind = type(model).__name__
        raise ModelError(f"expected a Model, or evidence as of learner.evidence(), got {kind}")
    at = check_stake(stake, model.problem.reward_value)
    return model.beliefs(Lattice(model.problem).at_stake(at))
