"""The worth of observations where nothing can be bought."""

import pytest

import askwise as aw

GIVEN = aw.Observation("g", values=["a", "b"], given=True)
PROBLEM = aw.Problem(observations=[GIVEN], actions=["p", "q"], reward_value=100)


def known():
    """A known population."""
    return aw.Model(PROBLEM, [0.5, 0.5], [[1, 0], [0, 1]])


def fitted():
    """A fitted log of complete records."""
    return aw.fit({"g": ["a", "b"] * 30, "p": [1.0, 0.0] * 30, "q": [0.0, 1.0] * 30}, PROBLEM)


def learned(kind=aw.Learner):
    """A learner with some cases."""
    learner = kind(PROBLEM, rng=0)
    for k in range(60):
        case = learner.open({"g": "ab"[k % 2]})
        case.reward(float(case.action == "pq"[k % 2]))
    return learner


def no_cases():
    """A learner without a case."""
    return aw.Learner(PROBLEM, rng=0)


@pytest.mark.parametrize(
    "made",
    [known, fitted, learned, lambda: learned(aw.SeqOOS), lambda: learned(aw.SimOOS), no_cases],
)
def test_a_tree_a_page_and_an_empty_table(made):
    """Only what is given tells the cases apart, so there is nothing to value."""
    source = made()
    worth, explained = aw.worth(source), aw.explain(source)
    assert len(worth) == len(worth.frame()["name"]) == 0
    assert str(worth).split()[0] == "price"
    assert "<table" in worth._repr_html_()
    assert explained.tree_with_sum() in str(explained)
    assert "<svg" in explained.html()
    learn = aw.still_to_learn(source)
    assert learn is None or learn.low >= 0
