"""Oracles and exact gains with a stake, against brute force and against prices divided by hand."""

import msgspec
import numpy as np
import pytest

import askwise as aw
from askwise.errors import CaseError, OptionError
from brute_force import (
    all_set_policies,
    all_trees,
    best_of_all,
    follow_set,
    follow_tree,
    random_model,
    random_tiny_problem,
)

STAKES = (0.05, 0.5, 3.0, 40.0)


def drawn(seed):
    rng = np.random.default_rng(seed)
    return random_model(rng, random_tiny_problem(rng)), STAKES[seed % len(STAKES)]


def with_problem(model, **changes):
    problem = msgspec.structs.replace(model.problem, **changes)
    return aw.Model(problem, model.probability, model.reward)


def worth_more(model, stake):
    """The population whose rewards are worth that many times as much, declared so."""
    return with_problem(model, reward_value=stake * model.problem.reward_value)


def cheaper(model, stake):
    """The population in which every price is divided by the stake."""
    problem = model.problem
    replace = msgspec.structs.replace
    return with_problem(
        model,
        observations=[replace(o, cost=o.cost / stake) for o in problem.observations],
        actions=[replace(a, cost=a.cost / stake) for a in problem.actions],
        panels=[replace(p, fee=p.fee / stake) for p in problem.panels],
    )


@pytest.mark.parametrize("seed", range(60))
def test_the_oracles_are_the_best_of_all_policies_at_the_stake(seed):
    model, stake = drawn(seed)
    counted, near = worth_more(model, stake), 1e-9 * stake * model.problem.reward_value
    for oracle, policies, follow in (
        (aw.oracle.sequential, all_trees, follow_tree),
        (aw.oracle.simultaneous, all_set_policies, follow_set),
    ):
        best = oracle(model, stake=stake)
        assert best.value == pytest.approx(best_of_all(counted, policies, follow), abs=near)
        assert best.evaluate(model) == pytest.approx(best.value, abs=near)
        assert best.evaluate(model, stake=stake) == pytest.approx(best.value, abs=near)


@pytest.mark.parametrize("seed", range(60))
def test_a_stake_is_as_prices_divided_by_it(seed):
    model, stake = drawn(seed)
    other, near = cheaper(model, stake), 1e-9 * stake * model.problem.reward_value
    here, there = aw.oracle.sequential(model, stake=stake), aw.oracle.sequential(other)
    assert here.value == pytest.approx(stake * there.value, abs=near)
    # a policy for a stake of 1, in cases with another
    plain = aw.oracle.sequential(model)
    same = aw.Policy.from_rule(other.problem, rule_of(plain))
    assert plain.evaluate(model, stake=stake) == pytest.approx(
        stake * same.evaluate(other), abs=near
    )
    frontier = aw.oracle.frontier(model, stake=stake)
    by_hand = aw.oracle.frontier(other)
    assert [p.gain for p in frontier] == pytest.approx([stake * p.gain for p in by_hand], abs=near)
    assert [p.spend for p in frontier] == pytest.approx(
        [stake * p.spend for p in by_hand], abs=near
    )
    if not any(o.given for o in model.problem.observations):
        found = aw.oracle.look_values(model, stake=stake)
        expected = aw.oracle.look_values(other)
        assert found == pytest.approx({k: stake * v for k, v in expected.items()}, abs=near)
        assert max(found.values()) == pytest.approx(here.value, abs=near)


def rule_of(policy):
    def rule(known):
        wanted = policy.wanted(known)
        return wanted[0] if wanted else policy.action(known)

    return rule


def desk():
    problem = aw.Problem(
        observations=[aw.Observation("bureau", values=["good", "poor"], cost=4.0)],
        actions=["approve", aw.Action("review", cost=2.0)],
        rewards=(-50.0, 10.0),
    )
    return aw.Model(problem, [0.9, 0.1], [[10.0, 3.0], [-20.0, 3.0]])


def test_a_desk_worked_by_hand():
    """approve: 0.9·10 − 0.1·20 = 7. With the look: 0.9·10·s + 0.1·(3 s − 2) − 4 = 9.3 s − 4.2."""
    model = desk()
    blind, looks = aw.oracle.sequential(model), aw.oracle.sequential(model, stake=10.0)
    assert blind.value == pytest.approx(7.0)
    assert not blind.observations
    assert looks.value == pytest.approx(93.0 - 4.2)
    assert looks.evaluate(model, stake=1.0) == pytest.approx(9.3 - 4.2)
    assert blind.evaluate(model, stake=10.0) == pytest.approx(70.0)
    assert aw.oracle.fixed(model, ["bureau"], stake=2.0).value == pytest.approx(18.6 - 4.2)
    half = aw.Budget(spend_per_case=2.0)
    mixed = aw.oracle.sequential(model, budget=half, stake=10.0)
    assert mixed.value == pytest.approx((70.0 + 88.8) / 2)
    assert mixed.evaluate(model, stake=1.0) == pytest.approx((7.0 + 5.1) / 2)
    assert "for a stake of 10" in repr(looks)


def test_a_table_takes_a_number_too():
    rows = {
        "bureau": ["good"] * 9 + ["poor"],
        "approve": [10.0] * 9 + [-20.0],
        "review": [3.0] * 10,
    }
    looks = aw.oracle.sequential(desk(), stake=10.0)
    by_column = looks.evaluate(rows | {"stake": [3.0] * 10}, stake="stake")
    assert looks.evaluate(rows, stake=3.0).gain.value == pytest.approx(27.9 - 4.2)
    assert by_column.gain.value == pytest.approx(27.9 - 4.2)
    assert looks.evaluate(rows).gain.value == pytest.approx(88.8)


@pytest.mark.parametrize("stake", [0, -1.0, float("nan"), "2", 1e12])
def test_what_is_no_stake_is_refused(stake):
    with pytest.raises(CaseError, match="stake must be"):
        aw.oracle.sequential(desk(), stake=stake)
    with pytest.raises((CaseError, OptionError), match="stake"):
        aw.oracle.sequential(desk()).evaluate(desk(), stake=stake)
