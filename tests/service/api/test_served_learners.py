"""Which learners the service offers is what their classes say."""

import pytest

import askwise as aw
from askwise.errors import OptionError
from askwise.learners import LEARNERS
from askwise.service.api.served_learners import new_learner, served

PROBLEM = aw.Problem(
    observations=[aw.Observation("test", values=["low", "high"], cost=1)], actions=["wait", "treat"]
)


class Offered(aw.SeqOOS):
    """A learner that the service has never heard of."""

    name = "offered"


class Refused(aw.SeqOOS):
    """A learner that says of itself that it cannot be served."""

    name = "refused"
    _why_not_served = "it says so"


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    for kind in (Offered, Refused):
        monkeypatch.setitem(LEARNERS, kind.name, kind)


def test_a_new_learner_is_served_unless_it_says_why_not():
    assert "offered" in served()
    assert isinstance(new_learner(PROBLEM, "offered", {}, 0), Offered)
    assert "refused" not in served()
    with pytest.raises(OptionError, match="'refused' cannot be served: it says so"):
        new_learner(PROBLEM, "refused", {}, 0)


def test_what_plans_for_every_case_or_needs_more_than_counters_is_not_served():
    ours = set(LEARNERS) - {"offered", "refused"}
    assert ours - set(served()) == {
        "policy-ucb",
        "epoch-greedy",
        "random-choice",
        "online-probing",
        "budgeted-regression",
    }


def test_an_unknown_learner_is_an_error_that_lists_the_known_ones():
    with pytest.raises(OptionError, match="unknown learner 'nobody', expected one of: learner"):
        new_learner(PROBLEM, "nobody", {}, 0)
