"""The worth of observations that are cheaper in a panel, against all policies."""

import re

import msgspec
import numpy as np
import pytest

import askwise as aw
import reference
from askwise.explain.observation_worth import ObservationWorth
from askwise.explain.worth_rows import shown_row
from askwise.policy.trees.figures import Figures
from askwise.simulation.environments import Population
from random_problems import random_model, random_problem, with_priced_panels

NOISE = [[[50, 40], [-300, 40]]] * 2
"""Rewards by what the photo says, whatever the registry does."""


def desk(registry=8.0, within=3.0):
    return aw.Problem(
        observations=[
            aw.Observation("registry", values=["low", "high"], cost=registry),
            aw.Observation("photo", values=["pass", "fail"], cost=15.0),
        ],
        panels=[aw.Panel({"registry": within, "photo": 9.0}, fee=6.0)],
        actions=["pay", aw.Action("investigate", cost=60.0)],
        rewards=(-1000.0, 60.0),
    )


def noise_and_photo():
    return aw.Model(desk(), [[0.25, 0.25], [0.25, 0.25]], NOISE)


def test_what_adds_nothing_at_any_price_breaks_even_at_0():
    worth = aw.worth(noise_and_photo())
    assert str(worth).splitlines()[-1].split() == ["registry", "8", "never", "0", "0", "0"]
    assert re.search("registry.*?</tr>", worth._repr_html_())[0].count(">0<") == 3
    assert worth.frame()["break_even"][0] == 0
    page = aw.explain(noise_and_photo()).html()
    assert '<td data-title="break-even" class="pays">0</td>' in page
    assert "if free, never from 5" not in page


def test_ends_of_intervals_have_no_fees_where_nothing_is_bought():
    gains = {
        "gain": 10.0,
        "without": 8.0,
        "free": 12.0,
        "bought": 0.5,
        "adds": 2.0,
        "adds_if_free": 4.0,
    }
    ends = {"adds_low": 0.0, "adds_high": 3.0, "break_even_low": 0.0, "break_even_high": 4.0}
    row = ObservationWorth(name="mri", price=3.0, break_even=2.0, fees=5.0, **gains, **ends)
    assert shown_row(row, Figures.of(100.0, [3.0]))["break-even"] == "7.0 (0.0 to 9.0)"


def without_prices(problem, name):
    """The same with an observation that costs nothing anywhere."""
    panels = [
        aw.Panel({**p.prices, name: 0.0}, fee=p.fee) if p.prices and name in p.prices else p
        for p in problem.panels
    ]
    return msgspec.structs.replace(problem.priced({name: 0.0}), panels=panels)


@pytest.mark.parametrize("plan", ["sequential", "simultaneous"])
def test_free_is_free_alone_and_in_the_panel(plan):
    rng, differs = np.random.default_rng(5), 0
    for _ in range(12):
        problem = with_priced_panels(rng, random_problem(rng, most=24, observations=3, buys=True))
        model, beta = random_model(rng, problem), problem.reward_value
        for row in aw.worth(model, acquisition=plan):
            free = without_prices(problem, row.name)
            best = getattr(reference, f"best_{plan}")
            expected = sum(best(free, *context) for context in reference.begin_alike(model))
            assert row.free == pytest.approx(expected, abs=1e-9 * beta)
            policy = getattr(aw.oracle, plan)(aw.Model(free, model.probability, model.reward))
            assert row.free == pytest.approx(policy.value, abs=1e-9 * beta)
            supposed = problem.supposing({row.name: 0.0})
            shifted = sum(best(supposed, *context) for context in reference.begin_alike(model))
            differs += row.free > shifted + 1e-6 * beta
    assert differs > 3


def test_a_learner_says_it_too():
    """Where the registry decides, it is worth its price alone, which is not paid if it is free."""
    model = aw.Model(desk(), [[0.25, 0.25], [0.25, 0.25]], [[[50, 40]] * 2, [[-300, 40]] * 2])
    assert aw.worth(model)["registry"].free == pytest.approx(15)
    learner = aw.Learner(model.problem, rng=0)
    aw.simulate(learner, Population(model), steps=5_000, rng=0)
    row = aw.worth(learner)["registry"]
    assert row.free - row.gain == pytest.approx(8, abs=1)  # its price alone
