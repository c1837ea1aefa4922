"""Groups with discounts: what was bought before makes a feature cheaper, so the order counts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import askwise as aw
from askwise.errors import OptionError
from askwise.integrations.sklearn.prices import Prices, check_discounts
from askwise.planning.advantage import plan_paths_by_advantage
from askwise.sklearn import CostAwareClassifier
from askwise.states import Lattice


def price(name, before, costs, groups):
    """The rule as it is said: less once another one of the group was bought."""
    for group in groups:
        if name in group and any(other in group for other in before):
            return group[name]
    return costs[name]


def total(order, costs, groups):
    return sum(price(name, order[:k], costs, groups) for k, name in enumerate(order))


@st.composite
def worlds(draw):
    """Three or four looks of two values, their joint distribution, rewards, groups."""
    names = [f"o{i}" for i in range(draw(st.integers(3, 4)))]
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    costs = {name: float(rng.integers(1, 9)) for name in names}
    cut = draw(st.integers(2, len(names)))
    parts = [names[:cut], names[cut:]]
    groups = [{n: costs[n] * float(rng.choice([0, 0.25, 1])) for n in part} for part in parts]
    p = rng.dirichlet(np.full(2 ** len(names), 0.5))
    return costs, groups, p, rng.random((len(p), 2)), draw(st.integers(1, len(names)))


def rows_with(known, names):
    states = np.arange(2 ** len(names))
    keep = np.ones(len(states), bool)
    for name, value in known.items():
        keep &= (states >> names.index(name) & 1) == value
    return keep


def best_of_all(known, costs, groups, p, rewards, m, beta):
    """The most that can follow: every order of looks is tried, and paid for as it comes."""
    names, here = list(costs), rows_with(known, list(costs))
    best = beta * (p[here] @ rewards[here]).max()
    for name in names:
        if name in known or len(known) == m:
            continue
        paid = p[here].sum() * price(name, list(known), costs, groups)
        rest = costs, groups, p, rewards, m, beta
        later = sum(best_of_all(known | {name: value}, *rest) for value in (0, 1))
        best = max(best, later - paid)
    return best


@settings(max_examples=60, deadline=None)
@given(worlds())
def test_plans_with_discounts_are_the_best_of_all_orders(world):
    costs, groups, p, rewards, m = world
    names, beta = list(costs), 30.0
    problem = aw.Problem(
        observations=[aw.Observation(n, values=[0, 1], cost=costs[n]) for n in names],
        actions=["a", "b"],
        max_observations=m,
        reward_value=beta,
    )
    lattice = Lattice(problem)
    weight, reward = np.empty(lattice.size), np.empty((lattice.size, 2))
    for state in range(lattice.size):
        here = rows_with({names[i]: x for i, x in lattice.digits(state)}, names)
        weight[state] = p[here].sum()
        reward[state] = p[here] @ rewards[here] / max(weight[state], 1e-300)
    prices = Prices(
        np.array([costs[n] for n in names]),
        (),
        check_discounts(groups, names, [costs[n] for n in names]),
    )
    rebate = prices.rebates(lattice, list(range(len(names))))
    plan = plan_paths_by_advantage(lattice, weight, reward, margin=1e-12, rebate=rebate)
    best = best_of_all({}, costs, groups, p, rewards, m, beta)
    assert plan.values[0] == pytest.approx(best, rel=1e-9)


@given(worlds(), st.permutations(range(4)), st.integers(0, 4))
def test_what_was_spent_is_the_sum_of_prices_in_their_order(world, order, bought):
    costs, groups, *_ = world
    names = list(costs)
    order = [k for k in order if k < len(names)]
    groups = check_discounts(groups, names, list(costs.values()))
    prices = Prices(np.array(list(costs.values())), (), groups)
    known = np.zeros((1, len(names)), bool)
    known[0, order[:bought]] = True
    found = prices.of(known, prices.ranks(np.array([7]), {7: order}))
    plain = total([names[k] for k in order[:bought]], costs, world[1])
    assert found[0] == pytest.approx(plain)


def table_of_two(rows=400):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=rows)
    return np.column_stack([rng.integers(2, size=rows), y]), y


def test_a_cheap_feature_is_bought_to_make_a_dear_one_cheaper():
    x, y = table_of_two()
    given = {"costs": [1.0, 50.0], "reward_value": 100.0, "further_looks": 0}
    alone = CostAwareClassifier(**given).fit(x, y)
    assert alone.looks(x[:1]) == [()]
    group = [{"x0": 1.0, "x1": 5.0}]
    together = CostAwareClassifier(discounts=group, **given).fit(x, y)
    assert together.looks(x[:1]) == [("x0", "x1")]
    assert together.spend(x).tolist() == [6.0] * len(x)
    assert together.cost_ == 6.0
    assert together.evaluate(x, y).spend.value == pytest.approx(6.0)


def test_spend_is_that_of_the_looks_also_of_further_ones():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 6))
    y = (x @ [1, 1, 1, 0.5, 0.5, 0] + rng.normal(0, 0.5, 300) > 0).astype(int)
    costs = {f"x{k}": cost for k, cost in enumerate([1.0, 3.0, 2.0, 4.0, 1.0, 2.0])}
    groups = [{"x0": 0.9, "x1": 0.5, "x3": 1.0}, {"x4": 0.2, "x5": 0.1}]
    for further in (0, "auto"):
        classifier = CostAwareClassifier(
            costs=costs, discounts=groups, max_observations=2, further_looks=further
        ).fit(x, y)
        looks = classifier.looks(x)
        plain = [total(list(row), costs, groups) for row in looks]
        np.testing.assert_allclose(classifier.spend(x), plain)
        assert max(map(len, looks)) > (1 if further == 0 else 2)


@pytest.mark.parametrize(
    ("discounts", "said"),
    [
        (3, "discounts must be a list of {name: price}, got 3"),
        ({"x0": 1}, "discounts must be a list of {name: price}"),
        (["x0"], "discounts: expected {name: price}, got 'x0'"),
        ([{"x9": 1}], "discounts: unknown feature 'x9', expected one of: x0, x1"),
        ([{"x0": 1}, {"x0": 1}], "discounts: 'x0' is in two groups"),
        ([{"x0": 2}], "the price of 'x0' must be a number from 0 to its cost, 1, got 2"),
        ([{"x0": float("nan")}], "the price of 'x0' must be a number"),
    ],
)
def test_discounts_that_cannot_be_are_refused(discounts, said):
    x, y = table_of_two(20)
    with pytest.raises(OptionError, match="discounts") as caught:
        CostAwareClassifier(discounts=discounts).fit(x, y)
    assert said in str(caught.value)
