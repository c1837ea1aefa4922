"""The best that can be done when p and r̄ are known: the planners with true numbers, zero radii.

Values closer than a hair (10⁻¹² of β) are ties: marginals are sums in different orders, and a free
look that changes nothing should not be bought for a rounding error.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from askwise._typing import Floats
from askwise.errors import ModelError
from askwise.estimation.estimates import Estimates
from askwise.lattice import Lattice
from askwise.models import Model
from askwise.planning import plan_sequential, plan_set_from, plan_simultaneous
from askwise.policy import SequentialPolicy, SimultaneousPolicy
from askwise.problem import Value
from askwise.radii import Radii

HAIR = 1e-12


def simultaneous(
    model: Model, *, known: Mapping[str, Value | None] | None = None
) -> SimultaneousPolicy:
    """π*_m = (I*_m, h*), the best set with its actions; its value is ρ*_m.

    With `known` it is the best for a case in which that is given and on file, for nothing: its
    value is what such a case is worth.
    """
    lattice, estimates = _truth(model)
    margin = HAIR * lattice.problem.reward_value
    if known is None:
        plan = plan_simultaneous(lattice, estimates, margin=margin)
    else:
        start = lattice.index(known)
        lattice = lattice.priced({}, lattice.domain(start))
        by_slot: Floats = np.repeat(estimates.weight[:, None], lattice.m, axis=1)
        plan = plan_set_from(lattice, estimates._replace(weight=by_slot), start, margin=margin)
    tables = (plan.sets, estimates.action, plan.values)
    return SimultaneousPolicy(lattice, *tables, frequency=_frequency(lattice, estimates))


def fixed(model: Model, observations: Sequence[str]) -> SimultaneousPolicy:
    """The fixed-I oracle: buy just these, then do the best; its value is V(I)."""
    if isinstance(observations, str):
        raise ModelError(f"observations must be a list of names, got {observations!r}")
    lattice, estimates = _truth(model)
    chosen = tuple(sorted({lattice.to_buy(name) for name in observations}))
    if len(chosen) > model.problem.m:
        raise ModelError(f"{len(chosen)} observations, expected at most {model.problem.m}")
    sets = np.full(lattice.contexts, lattice.subset(chosen))
    plan = plan_simultaneous(lattice, estimates)
    tables = (sets, estimates.action, plan.values)
    return SimultaneousPolicy(lattice, *tables, frequency=_frequency(lattice, estimates))


def sequential(model: Model) -> SequentialPolicy:
    """π* = (g*, h*), the best way to look one by one; its value is F*_0.

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
    buy mri (9)
    ├─ neg → wait
    └─ pos → treat
    """
    lattice, estimates = _truth(model)
    margin = HAIR * lattice.problem.reward_value
    # p(ψ' | ψ, i) is proportional to p(ψ'), from whichever parent
    every_slot: Floats = np.repeat(estimates.weight[:, None], lattice.m, axis=1)
    plan = plan_sequential(lattice, estimates._replace(weight=every_slot), margin=margin)
    tables = (plan.next, estimates.action, plan.values)
    return SequentialPolicy(lattice, *tables, frequency=_frequency(lattice, estimates))


def _frequency(lattice: Lattice, truth: Estimates) -> Floats | None:
    """P of every context, if there are several."""
    if lattice.contexts == 1:
        return None
    return np.array(truth.weight[: lattice.contexts], np.float64)


def _truth(model: Model) -> tuple[Lattice, Estimates]:
    if not isinstance(model, Model):
        raise ModelError(f"expected a Model, such as table.model(), got {type(model).__name__}")
    lattice = Lattice(model.problem)
    probability, reward = model.marginals(lattice)
    best: Floats = reward.max(axis=1)
    # The first action within a hair of the best: equals stay equal however they were summed.
    action = (reward >= best[:, None] - HAIR).argmax(axis=1).astype(np.int16)
    return lattice, Estimates(best, action, probability, Radii())
