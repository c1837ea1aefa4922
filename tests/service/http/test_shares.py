"""No token takes what all of them need: the queue, what is held of bodies, streams of changes."""

import pytest

from askwise.service.api.refusals import Refusal
from askwise.service.http.shares import Shares
from askwise.service.tokens import FULL_ACCESS, new_token


def test_a_token_has_its_share_and_leaves_the_others_theirs():
    one, other = new_token("decide")[1], new_token("decide")[1]
    shares = Shares(10, "things")
    shares.take(one, 25)  # by itself nothing is too much: limits of single requests are elsewhere
    with pytest.raises(Refusal, match="10 things are the share of one token") as refused:
        shares.take(one, 1)
    assert (refused.value.status, refused.value.retry) == (429, 1)
    shares.take(other, 4)
    shares.take(other, 6)
    with pytest.raises(Refusal):
        shares.check(other)
    shares.give_back(other, 1)
    shares.take(other, 1)
    shares.give_back(one, 25)
    shares.take(one, 10)


def test_without_tokens_there_is_nobody_to_share_with():
    shares = Shares(1, "things")
    for _ in range(5):
        shares.take(FULL_ACCESS, 3)
