"""A new version of a problem: every field is taken over as it was asked for, or refused by name."""

import msgspec
import pytest

import askwise as aw
from askwise.errors import OptionError, StatisticsError
from askwise.service.decisions.carrying import carried_over

PROBLEM = aw.Problem(
    observations=[
        aw.Observation("age", values=["young", "old"], given=True),
        aw.Observation("pulse", values=["slow", "fast"], cost=1.0),
        aw.Observation("mri", values=["neg", "pos", "odd"], cost=9.0, other="odd"),
        aw.Observation.binned("weight", edges=[50, 80], cost=2.0),
    ],
    actions=["wait", aw.Action("treat", cost=1.0)],
    reward_value=100.0,
    max_observations=2,
)


def with_observation(which, **fields):
    observations = [
        msgspec.structs.replace(o, **fields) if o.name == which else o for o in PROBLEM.observations
    ]
    return msgspec.structs.replace(PROBLEM, observations=observations)


def with_treat(**fields):
    return msgspec.structs.replace(PROBLEM, actions=["wait", aw.Action("treat", **fields)])


OBSERVATIONS = {
    "name": with_observation("pulse", name="beat"),
    "values": with_observation("pulse", values=["slow", "fast", "none"]),
    "cost": with_observation("pulse", cost=3.0),
    "given": with_observation("pulse", given=True, cost=0.0),
    "fails": with_observation("pulse", fails="charged"),
    "edges": with_observation("weight", edges=[50, 90], values=()),
    "other": with_observation("mri", other=None),
    "requires": with_observation("mri", requires=["pulse"]),
    "ordered": with_observation("pulse", ordered=True),
    "stands_for": with_observation("pulse", stands_for=[["low"], ["high"]]),
}
ACTIONS = {
    "name": msgspec.structs.replace(PROBLEM, actions=["wait", "treat", "operate"]),
    "cost": with_treat(cost=2.0),
    "requires": with_treat(cost=1.0, requires=["mri"]),
}
PROBLEMS = {
    "observations": msgspec.structs.replace(PROBLEM, observations=PROBLEM.observations[:-1]),
    "actions": msgspec.structs.replace(PROBLEM, actions=["treat", "wait"]),
    "max_observations": msgspec.structs.replace(PROBLEM, max_observations=1),
    "reward_value": msgspec.structs.replace(PROBLEM, reward_value=50.0),
    "panels": msgspec.structs.replace(PROBLEM, panels=[aw.Panel(["pulse", "mri"], fee=1.0)]),
    "rewards": aw.Problem(
        observations=PROBLEM.observations,
        actions=PROBLEM.actions,
        max_observations=2,
        rewards=(-10.0, 90.0),
    ),
}
CHANGED = (
    [pytest.param(p, id=f"Observation.{name}") for name, p in OBSERVATIONS.items()]
    + [pytest.param(p, id=f"Action.{name}") for name, p in ACTIONS.items()]
    + [pytest.param(p, id=f"Problem.{name}") for name, p in PROBLEMS.items()]
)


def learned(problem):
    """A learner of the problem that has seen a few cases."""
    learner = aw.Learner(problem, rng=1)
    for k in range(20):
        case = learner.open(known={o.name: o.values[0] for o in problem.observations if o.given})
        while case.wanted:
            seen = {o.name: o.values[k % len(o.values)] for o in problem.observations}
            case.observe({name: seen[name] for name in case.wanted})
        case.reward(problem.as_money(0.5))
    return learner


def test_a_budget_that_cannot_be_carried_over_is_named():
    learner = aw.Learner(PROBLEM, rng=1, budget=aw.Budget(spend_per_case=2.0))
    assert carried_over(learner, OBSERVATIONS["cost"], seed=7).problem == OBSERVATIONS["cost"]
    with pytest.raises(StatisticsError, match=r"^budget: what was spent .* create a new"):
        carried_over(learner, ACTIONS["name"], seed=7)


def test_every_field_is_tried():
    assert set(OBSERVATIONS) == set(aw.Observation.__struct_fields__)
    assert set(ACTIONS) == set(aw.Action.__struct_fields__)
    assert set(PROBLEMS) == set(aw.Problem.__struct_fields__)


@pytest.mark.parametrize("is_forward", [True, False], ids=["changed", "changed back"])
@pytest.mark.parametrize("changed", CHANGED)
def test_a_changed_field_is_taken_over_or_refused(changed, is_forward):
    before, after = (PROBLEM, changed) if is_forward else (changed, PROBLEM)
    learner = learned(before)
    try:
        carried = carried_over(learner, after, seed=7)
    except OptionError:
        return  # it says what must stay
    assert carried.problem == after
    assert carried.statistics.cases == learner.statistics.cases == 20
