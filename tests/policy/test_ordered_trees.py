"""Trees of ordered values: neighbours that lead to the same are one range."""

import xml.etree.ElementTree as ET
from datetime import date
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import askwise as aw
from askwise.policy.trees import Act, merge


def followed(observation, wanted):
    """The best policy where each outcome of an observation has an action of its own."""
    problem = aw.Problem(observations=[observation], actions=["cheap", "strong"])
    number = len(observation.outcomes)
    reward = np.zeros((number, 2))
    reward[np.arange(number), [("cheap", "strong").index(a) for a in wanted]] = 1.0
    model = aw.Model(problem, np.full(number, 1 / number), reward)
    return aw.oracle.sequential(model)


def branches(observation, wanted):
    """What the outline says of the branches."""
    lines = followed(observation, wanted).tree().outline().splitlines()[1:]
    return [line[3:] for line in lines]


C, S = "cheap", "strong"


def test_only_neighbours_are_one_branch():
    values = {"values": range(5), "cost": 0.01}
    wanted = [S, S, C, S, C]
    assert branches(aw.Observation("effort", **values), wanted) == [
        "0 or 1 or 3 → strong",
        "2 or 4 → cheap",
    ]
    assert branches(aw.Observation("effort", ordered=True, **values), wanted) == [
        "0 to 1 → strong",
        "2 → cheap",
        "3 → strong",
        "4 → cheap",
    ]


@pytest.mark.parametrize(
    ("edges", "names", "wanted", "expected"),
    [
        ([40, 50, 60], (), [C, C, S, S], ["<50", ">=50"]),
        ([40, 50, 60], (), [C, S, S, C], ["<40", "40-60", ">=60"]),
        ([-1, 0, 2.5], (), [C, S, S, S], ["<-1", ">=-1"]),
        ([-1, 0, 2.5], (), [C, S, S, C], ["<-1", "-1 to 2.5", ">=2.5"]),
        ([40, 50, 60], ("a", "b", "c", "d"), [C, S, S, S], ["a", "b to d"]),
        ([date(2020, 1, 1), date(2021, 1, 1)], (), [C, C, S], ["<2021-01-01", ">=2021-01-01"]),
    ],
)
def test_bins_are_ordered_and_named_by_their_outer_edges(edges, names, wanted, expected):
    age = aw.Observation.binned("age", edges=edges, values=names, cost=0.01)
    assert [line.split(" → ")[0] for line in branches(age, wanted)] == expected


def test_bins_may_be_said_to_be_in_no_order():
    age = aw.Observation.binned("age", edges=[40, 50], cost=0.01, ordered=False)
    assert branches(age, [C, S, C]) == ["<40 or >=50 → cheap", "40-50 → strong"]


def test_a_look_that_failed_joins_the_first_that_leads_to_the_same():
    grade = aw.Observation("grade", values=range(4), cost=0.01, ordered=True, fails="charged")
    assert branches(grade, [S, C, C, S, C]) == [
        "0 → strong",
        "1 to 2 or unavailable → cheap",
        "3 → strong",
    ]
    assert branches(grade, [C, C, C, C, S]) == ["any value → cheap", "unavailable → strong"]


def test_every_form_says_the_range():
    grade = aw.Observation("grade", values=range(5), cost=0.01, ordered=True)
    tree = followed(grade, [C, C, S, S, S]).tree()
    assert "0 to 1 → cheap" in str(tree)
    assert "0 to 1" in "".join(ET.fromstring(tree.svg()).itertext())
    assert '<span class="when">2 to 4</span>' in tree.html()
    first, second = tree.to_dict()["branches"]
    assert (first["values"], first["range"]) == ([0, 1], "0 to 1")
    assert (second["values"], second["range"]) == ([2, 3, 4], "2 to 4")
    plain = followed(aw.Observation("grade", values=range(5), cost=0.01), [C, C, S, S, S]).tree()
    assert "range" not in plain.to_dict()["branches"][0]


def test_given_values_and_those_bought_together_say_their_range_too():
    problem = aw.Problem(
        observations=[
            aw.Observation("amount", edges=[10, 100], given=True),
            aw.Observation("x", values=range(3), cost=0.01, ordered=True),
            aw.Observation("y", values=range(3), cost=0.01, ordered=True),
        ],
        actions=[C, S],
    )
    reward = np.zeros((3, 3, 3, 2))
    reward[..., 0] = 0.6
    reward[1:, 1:, 1:, 1] = 1.0
    model = aw.Model(problem, np.full((3, 3, 3), 1 / 27), reward)
    outline = aw.oracle.simultaneous(model).tree().outline()
    assert "amount >=10" in outline
    assert "x 1 to 2" in outline
    assert "y 1 to 2 → strong" in outline


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=9))
def test_ranges_are_runs(actions):
    """Every value stands in one branch, neighbours differ, and the order is kept."""
    merged = merge([(x, Act(a)) for x, a in enumerate(actions)], ordered=True)
    assert [x for values, _ in merged for x in values] == list(range(len(actions)))
    assert all(actions[x] == node.action for values, node in merged for x in values)
    done = [node.action for _, node in merged]
    assert all(a != b for a, b in pairwise(done))
