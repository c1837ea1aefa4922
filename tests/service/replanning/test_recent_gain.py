"""The alarm of a loss is raised by a loss, not by chance, and does not flap."""

import time
from collections import Counter
from itertools import pairwise

import msgspec
import numpy as np
import pytest

from askwise.service.ledger.case_blocks import block_of
from askwise.service.ledger.counters import BY_BLOCK, DAILY, DAY
from askwise.service.ledger.rows import Increment
from askwise.service.replanning.recent_gain import FEWEST, OVERDUE, recent_gain
from serving import PROBLEM

NOTHING = 60.0
"""What a case gains without a look, by the estimates."""


class Counted:
    """A ledger that has only the counters of blocks and days, and is its own project."""

    id, problem = 1, msgspec.json.encode(PROBLEM)

    def __init__(self, days_ago=0):
        self._day = time.time_ns() // 1000 // DAY - days_ago
        self._blocks, self._opened = Counter(), 0

    def add(self, rewards, spend=0.0):
        """Cases that spend as much and have these rewards; None is still awaited."""
        for reward in rewards:
            self._opened += 1
            block = block_of(self._opened)
            amounts = {"acted": 1, "spend": round(spend * 2**20)}
            if reward is None:
                amounts["awaited"] = 1
            else:
                amounts |= {"rewarded": 1, "reward": round(reward * 2**30)}
            for name, amount in amounts.items():
                self._blocks[block, BY_BLOCK.index(name)] += amount

    def counters_of(self, project, kinds):
        return [Increment("block", *cell, amount) for cell, amount in self._blocks.items()]

    def counter_values(self, project, kind):
        return {(self._day, DAILY.index("opened")): self._opened}


def looks(seed, share, *, cases=1500, every=96, **more):
    """What an operator sees who looks again and again, and whether that changed."""
    rng, counted, is_below, seen = np.random.default_rng(seed), Counted(), False, []
    for _ in range(cases // every):
        counted.add((rng.random(every) < share).astype(float), **more)
        gained = recent_gain(counted, counted)
        if gained is not None:
            is_below = gained.is_below(NOTHING, PROBLEM.reward_value, was_below=is_below)
        seen.append(is_below)
    return seen


def test_chance_raises_no_alarm():
    """Cases gain just what buying nothing would, which is the hardest case where all is well."""
    seen = [looks(seed, NOTHING / 100.0) for seed in range(100)]
    assert sum(map(any, seen)) <= 5  # of 100 projects, 15 looks at each
    changes = sum(a != b for one in seen for a, b in pairwise(one))
    assert changes <= 2 * sum(map(any, seen))  # an alarm begins and ends once


@pytest.mark.parametrize(
    ("share", "spend"), [(0.48, 0.0), (0.60, 12.0)], ids=["wrong actions", "useless looks"]
)
def test_a_loss_is_found(share, spend):
    """Of 12 a case, which is a fifth, within 1,500 cases; and it is said until it is over."""
    seen = [looks(seed, share, spend=spend) for seed in range(40)]
    assert sum(one[-1] for one in seen) >= 36


def test_an_alarm_ends_once_the_newest_cases_gain_enough():
    counted = Counted()
    counted.add([0.4] * 500)
    lost = recent_gain(counted, counted)
    assert lost.is_below(NOTHING, PROBLEM.reward_value, was_below=False)
    counted.add([0.7] * 1500)
    assert not recent_gain(counted, counted).is_below(NOTHING, PROBLEM.reward_value, was_below=True)


def test_what_exploration_costs_raises_no_alarm_where_rewards_hardly_vary():
    """Of a reward value of 100, cases lose 0.45 ± 0.01; an alarm of before ends with that, too."""
    counted, beta = Counted(), PROBLEM.reward_value
    counted.add([0.5954, 0.5956] * 504)
    gained = recent_gain(counted, counted)
    assert (gained.cases, gained.error < 0.01) == (1008, True)
    assert not gained.is_below(NOTHING, beta, was_below=False)
    assert not gained.is_below(NOTHING, beta, was_below=True)
    counted.add([0.5854, 0.5856] * 2000)
    assert recent_gain(counted, counted).is_below(NOTHING, beta, was_below=False)


def test_lost_rewards_do_not_silence_the_alarm():
    """One reward in sixteen never comes, so no block is ever complete."""
    counted = Counted()
    counted.add(([0.4] * 15 + [None]) * 40, spend=1.0)
    gained = recent_gain(counted, counted)
    assert gained.of_unit == pytest.approx(39.0)  # what awaited cases spent is not theirs
    assert gained.is_below(NOTHING, PROBLEM.reward_value, was_below=False)


@pytest.mark.parametrize("is_old", [False, True])
def test_rewards_that_come_late_are_waited_for_until_they_are_overdue(is_old):
    counted = Counted(days_ago=OVERDUE // DAY + 2 if is_old else 0)
    counted.add(([0.4] * 8 + [None] * 8) * 60)
    assert (recent_gain(counted, counted) is not None) == is_old


def test_few_cases_say_nothing():
    counted = Counted()
    counted.add([0.0] * (FEWEST - 1))
    assert recent_gain(counted, counted) is None
