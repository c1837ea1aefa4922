"""The worth of observations beside a tree that keeps to a budget."""

import numpy as np
import pytest

import askwise as aw
from askwise.policy.trees import Act
from askwise.simulation.environments import Population, breast_cancer


@pytest.fixture(scope="module", params=["sequential", "simultaneous"])
def learner(request):
    model = breast_cancer(cost=5.0)
    options = {"acquisition": request.param, "budget": aw.Budget(spend_per_case=4)}
    learner = aw.Learner(model.problem, rng=0, **options)
    aw.simulate(learner, Population(model), steps=1_500, rng=1)
    return learner


def share_that_buys(node, name):
    """The share of all cases, node by node of the tree that is shown."""
    if isinstance(node, Act):
        return 0.0
    own = node.reason.share if name in node.bought else 0.0
    return own + sum(share_that_buys(child, name) for _, child in node.branches)


def test_gain_and_purchases_are_those_of_the_tree(learner):
    worth, explained = aw.worth(learner), aw.explain(learner)
    assert worth.policy.shadow_price > 0
    assert worth.gain == worth.policy.value == pytest.approx(explained.gain)
    for row in worth:
        assert row.bought == pytest.approx(share_that_buys(explained.tree.root, row.name))
    spend = sum(row.bought * row.price for row in worth)
    assert spend == pytest.approx(explained.spend)
    assert spend <= 4 + 1e-9


def test_worth_itself_is_that_without_the_budget(learner):
    within = aw.worth(learner)
    free = aw.worth(learner.evidence(), acquisition=within.acquisition)
    assert free.gain > within.gain + 1
    for row in within:
        other = free[row.name]
        assert (row.gain, row.adds, row.break_even) == (other.gain, other.adds, other.break_even)
        assert within.demand(row.name) == free.demand(row.name)


def test_every_place_says_what_is_without_the_budget(learner):
    worth, explained = aw.worth(learner), aw.explain(learner)
    said = "How often observations are bought is said within the budget, where one more to spend"
    for text in (str(worth), worth._repr_html_(), str(explained), explained.html()):
        assert said in text
        assert "is said without the budget." in text
    assert "still to learn, without the budget: what perfect" in explained.html()
    plain = aw.explain(learner.evidence(), acquisition=worth.acquisition)
    assert "budget" not in str(plain) + plain.html()


def test_what_the_budget_keeps_from_being_bought_is_no_doubt(learner):
    """The tree leaves out what it cannot afford, not what it is unsure of."""
    worth = aw.worth(learner)
    today = worth._sensitivity.today.bought
    unaffordable = [row.name for row in worth if row.bought == 0 < today[row.name]]
    said = " ".join(worth.disagreements())
    assert not any(name in said for name in unaffordable)


def test_a_shortlist_has_the_purchases_of_its_tree():
    """The tree is of all observations, and the table of a few of them."""
    names = [f"o{k}" for k in range(12)]
    problem = aw.Problem(
        observations=[aw.Observation(n, values=[0, 1], cost=1) for n in names],
        actions=["a", "b"],
        max_observations=3,
        reward_value=100,
    )
    learner = aw.Learner(problem, rng=0, budget=aw.Budget(spend_per_case=0.5))
    rng = np.random.default_rng(5)
    for _ in range(1_500):
        seen = rng.integers(2, size=12)
        case = learner.open()
        while case.wanted:
            case.observe({n: int(seen[names.index(n)]) for n in case.wanted})
        case.reward(float(rng.random() < (0.9 if case.action == "ba"[seen[4]] else 0.1)))
    worth = aw.worth(learner)
    assert worth.policy.shadow_price > 0
    root = worth.policy.tree().root
    assert 0 < worth["o4"].bought < 1
    assert all(row.bought == share_that_buys(root, row.name) for row in worth)
