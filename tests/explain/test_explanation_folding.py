"""The page of an explanation: it folds, says what is spent, fits, and is saved as a page."""

import re

import pytest

import askwise as aw
from askwise.errors import OptionError
from askwise.estimation.evidence import Beliefs
from askwise.explain.explanation import demand_picture
from askwise.explain.observation_worth import DemandStep
from askwise.simulation.environments import Population, breast_cancer


def test_a_folded_explanation_spends_what_the_whole_spends():
    model = breast_cancer(cost=5.0)
    whole, folded = aw.explain(model), aw.explain(model, max_depth=1)
    assert folded.spend == pytest.approx(whole.spend)
    assert len(str(folded.tree).splitlines()) < len(str(whole.tree).splitlines())
    assert " more" in folded.html()
    assert folded.gain == whole.gain


def desk():
    problem = aw.Problem(
        observations=[aw.Observation("photo", values=["pass", "fail"], cost=15.0)],
        actions=["pay", aw.Action("investigate", cost=60.0)],
        rewards=(-1000.0, 60.0),
    )
    return aw.Model(problem, [0.5, 0.5], [[50, 40], [-300, 40]])


def test_what_is_spent_on_observations_is_without_what_actions_cost():
    explanation = aw.explain(desk())
    assert explanation.spend == pytest.approx(15)
    assert "<b>15</b><span>spent on observations in a case</span>" in explanation.html()


def test_a_page_is_saved_as_a_page(tmp_path):
    explanation = aw.explain(desk())
    for name in ("x.pdf", "x", "x.html.txt"):
        with pytest.raises(OptionError, match=f"saved as a page, .html or .htm, got '{name}'"):
            explanation.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    for name in ("x.html", "x.HTM"):
        explanation.save(tmp_path / name)
        assert (tmp_path / name).read_text().startswith("<!DOCTYPE html>")


def test_the_table_of_worth_scrolls_in_its_card():
    page = aw.explain(desk()).html()
    assert '<div class="card">\n<div class="scroll">\n<table class="worth numbers">' in page
    learner = aw.Learner(desk().problem, rng=0)
    aw.simulate(learner, Population(desk()), steps=300, rng=0)
    page = aw.explain(learner).html()
    assert re.search(r'"break-even" class="pays">[\d.]+ <small>\([\d.]+ to [\d.]+\)</small>', page)


def test_the_picture_of_a_demand_prints_no_number_over_another():
    steps = [DemandStep(0.0, 10.0, 1.0), DemandStep(60.0, 5.0, 0.0)]
    near, far = demand_picture(steps, today=1.0), demand_picture(steps, today=30.0)
    assert ">0</text>" not in near
    assert ">0</text>" in far
    assert ">1</text>" in near


def test_the_picture_of_a_demand_says_in_words_what_is_never_bought():
    nothing = demand_picture([DemandStep(0.0, 5.0, 0.0)], today=1.0)
    assert 'aria-label="never bought, not even if free"' in nothing
    some = demand_picture([DemandStep(0.0, 9.0, 0.5), DemandStep(2.0, 5.0, 0.0)], today=1.0)
    assert 'aria-label="bought in 50% of the cases if free, never from 2 on"' in some


def test_a_page_without_bands_speaks_of_none():
    model = breast_cancer(cost=5.0)
    learner = aw.Learner(model.problem, rng=0)
    aw.simulate(learner, Population(model), steps=300, rng=0)
    believed = learner.evidence().standalone()
    alone = Beliefs(
        believed.lattice,
        believed.probability,
        believed.reward,
        variance=believed.variance,
        cases=300,
    )
    assert "the band has" in aw.explain(learner).html()
    assert "the band has" not in aw.explain(alone).html()
    assert "may end at another price than the break-even price" in aw.explain(alone).html()
    assert "may end at another price" not in aw.explain(desk()).html()  # of a known population


@pytest.mark.parametrize("given", [False, True])
def test_a_tree_that_begins_with_what_is_given_has_the_sum_of_all_cases(given):
    """By hand: half of the cases are old; the scan is worth its price only for them."""
    age = aw.Observation("age", values=["young", "old"], cost=0.0, given=given)
    problem = aw.Problem(
        observations=[age, aw.Observation("scan", values=["neg", "pos"], cost=4.0)],
        actions=["wait", "treat"],
        reward_value=100.0,
    )
    right = [[[1, 0], [1, 0]], [[1, 0], [0, 1]]]
    model = aw.Model(problem, [[0.25, 0.25], [0.25, 0.25]], right)
    said = str(aw.explain(model))
    is_said = "All cases: gain 98.0, spent 2.0 on observations." in said
    assert is_said == given
