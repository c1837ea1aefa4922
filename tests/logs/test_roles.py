"""A column of a log has one role."""

import pytest

import askwise as aw
from askwise.logs.drafting import draft

DESK = aw.Problem(
    observations=[aw.Observation("device", values=["known", "new"], cost=1.0)],
    actions=["pay", "check"],
    rewards=(-20.0, 10.0),
)
LOG = {"device": ["known", "new"] * 20, "pay": [10.0, -20.0] * 20, "check": [5.0] * 40}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rewards": {"pay": "pay", "check": "check"}, "stake": "pay"}, r"stake='pay' is the .*"),
        ({"rewards": {"pay": "pay", "check": "pay"}}, r"rewards\['check'\]='pay' is the .*"),
    ],
)
def test_columns_of_rewards_have_no_other_role(options, message):
    message += r"column of rewards\['pay'\]= already, name another column"
    with pytest.raises(aw.AskwiseError, match=message):
        draft(LOG, **options)
    with pytest.raises(aw.AskwiseError, match=message):
        aw.fit(LOG, DESK, **options)


def test_columns_that_are_named_like_actions_have_no_other_role():
    policy = aw.Policy.from_rule(DESK, lambda _: "pay")
    with pytest.raises(aw.AskwiseError, match=r"stake='check' is the column of rewards\['check'\]"):
        policy.evaluate(LOG, stake="check")
    with pytest.raises(aw.AskwiseError, match=r"rewards\['check'\]='check' is the column of rew"):
        policy.evaluate(LOG, rewards={"pay": "check"})
