"""In a panel the price shown is the price paid there: in trees, in tables, on the page."""

import itertools
import re

import numpy as np
import pytest

import askwise as aw
from askwise.policy.trees import Act
from askwise.simulation.environments import Population, model_at_random


def problem_of(*, fails=None):
    def look(name, cost):
        return aw.Observation(name, values=["lo", "hi"], cost=cost, fails=fails)

    return aw.Problem(
        observations=[look("ecg", 1.0), look("pulse", 2.0), look("mri", 3.0)],
        actions=["wait", "treat"],
        reward_value=100,
        panels=[
            aw.Panel(observations=["ecg", "pulse"], fee=5.0),
            aw.Panel(observations=["pulse", "mri"], fee=4.0),
        ],
    )


def paid_for(bought, before):
    """By hand: its own price, and the fee of each panel of which nothing was bought before."""
    own = {"ecg": 1.0, "pulse": 2.0, "mri": 3.0}
    panels = [({"ecg", "pulse"}, 5.0), ({"pulse", "mri"}, 4.0)]
    fees = [f for panel, f in panels if panel & set(bought) and not panel & set(before)]
    return sum(own[name] for name in bought) + sum(fees)


def check_tree(node, before=()):
    """Every node says what is paid there; returns how many looks came after one of their panel."""
    if isinstance(node, Act):
        return 0
    later = 0
    if node.bought:
        assert node.cost == pytest.approx(paid_for(node.bought, before))
        later += node.cost < paid_for(node.bought, ())
    return later + sum(check_tree(child, (*before, *node.bought)) for _, child in node.branches)


def models(number, **options):
    return (model_at_random(np.random.default_rng(s), problem_of(**options)) for s in range(number))


def test_trees_and_tables_say_what_is_paid():
    later = 0
    for model, plan in itertools.product(models(40), ["sequential", "simultaneous"]):
        worth = aw.worth(model, acquisition=plan)
        later += check_tree(worth.policy.tree().root)
        shown = {line.split()[0]: line.split()[1] for line in str(worth).splitlines()[1:]}
        lattice, share = aw.states.Lattice(model.problem), dict.fromkeys(shown, 0.0)
        amounts = dict.fromkeys(shown, 0.0)
        probability, _ = model.marginals(lattice)

        def walk(state, policy=worth.policy, lattice=lattice, probability=probability,
                 share=share, amounts=amounts):  # fmt: skip
            reached = [state]
            looks = policy.looks(state)
            for i in looks:
                name = lattice.observations[i].name
                for s in reached:
                    share[name] += probability[s]
                    amounts[name] += probability[s] * lattice.price(s, (i,))
                reached = [child for s in reached for child in lattice.children(s, i)]
            for s in reached if looks else []:
                walk(s)

        walk(0)
        for row in worth:
            alone = lattice.tariff.cost_of([lattice.position(row.name)])
            expected = amounts[row.name] / share[row.name] if share[row.name] else alone
            assert row.paid == pytest.approx(expected)
            assert float(shown[row.name]) == pytest.approx(expected, rel=0.005)
            assert row.price == {"ecg": 1.0, "pulse": 2.0, "mri": 3.0}[row.name]
    assert later > 10


def test_what_is_spent_is_the_sum_of_the_prices_shown():
    for model in models(20):
        explanation = aw.explain(model)
        spent = sum(row.bought * row.paid for row in explanation.worth)
        assert spent == pytest.approx(explanation.spend)


def test_the_page_says_what_is_paid_and_compares_it_with_what_may_be_paid():
    model = next(itertools.islice(models(2), 1, None))
    explanation = aw.explain(model)
    rows = {row.name: row for row in explanation.worth}
    assert (rows["ecg"].paid, rows["pulse"].paid) == (6.0, 6.0)
    page = explanation.html()
    told = explanation._row(rows["pulse"])
    assert told["cells"]["price"] == "6"
    assert float(told["cells"]["break-even"]) == pytest.approx(
        rows["pulse"].break_even + 4.0, rel=0.005
    )
    assert told["pays"]
    assert re.search(r'class="now">6<', page)
    assert "buy pulse (6)" in page


@pytest.mark.parametrize("kind", ["joint", "additive"])
@pytest.mark.parametrize("plan", ["sequential", "simultaneous"])
def test_learners_say_it_too(kind, plan):
    model = next(itertools.islice(models(2), 1, None))
    learner = aw.Learner(model.problem, acquisition=plan, model=kind, rng=0)
    aw.simulate(learner, Population(model), steps=800, rng=0)
    check_tree(learner.recommend().tree().root)
    for row in aw.worth(learner):
        assert row.paid >= row.price


def test_without_panels_nothing_is_added():
    plain = aw.Problem(
        observations=[aw.Observation("mri", values=["neg", "pos"], cost=9)],
        actions=["wait", "treat"],
        reward_value=100,
    )
    model = model_at_random(np.random.default_rng(0), plain)
    assert aw.worth(model)["mri"].fees == 0.0


def test_a_look_that_was_refunded_opens_no_panel():
    for model in models(10, fails="refunded"):
        worth = aw.worth(model)
        for row in worth:
            assert row.fees <= 9.0
