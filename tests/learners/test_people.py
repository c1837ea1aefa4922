"""What people do in a case in place of what it advises, and what is counted of it."""

import numpy as np
import pytest

import askwise as aw
from askwise.errors import CaseError
from askwise.learners.cases import Case
from inside import path_policy, rounds_of, set_policy


def problem(**more):
    return aw.Problem(
        observations=[
            aw.Observation("lab", values=["no", "yes"], cost=0.25),
            aw.Observation("scan", values=["no", "yes"], cost=0.5),
            aw.Observation("visit", values=["no", "yes"], cost=0.125),
        ],
        actions=["wait", "treat", aw.Action("operate", requires=["scan"])],
        max_observations=2,
        **more,
    )


def following(learner, looks=None, bought=None):
    """A case of the learner under a policy that is given: looks by state, or a set."""
    rounds = rounds_of(learner)
    lattice = rounds.now.lattice
    actions = np.zeros(lattice.size, np.int16)
    if bought is None:
        look = np.full(lattice.size, -1, np.int16)
        for state, name in looks.items():
            look[lattice.index(dict(state))] = lattice.position(name)
        policy = path_policy(lattice, look, actions, np.zeros(lattice.size))
    else:
        subset = lattice.subset(tuple(sorted(map(lattice.position, bought))))
        policy = set_policy(lattice, subset, actions, np.zeros(lattice.context_subsets))
    number = rounds.now.opened + 1
    rounds.now.count_opened(1)
    case = rounds.cases[number] = Case(number, policy, rounds)
    if case.wanted:
        rounds.looking[number] = case
    return case


LAB_THEN_SCAN = {(): "lab", (("lab", "yes"),): "scan"}


def counted(learner):
    """Steps by what was known before, and rewards by (state, action), in readable states."""
    statistics = learner.statistics.dense()
    lattice = statistics.lattice
    steps = {}
    for state in range(lattice.size):
        for i in range(lattice.buyable):
            n = statistics.steps(state, i) if len(lattice.children(state, i)) else 0
            if n:
                steps[str(lattice.state(state)), lattice.observations[i].name] = n
    rewards = {
        (str(lattice.state(int(s))), lattice.problem.action_names[int(a)]): int(
            statistics.action_counts[s, a]
        )
        for s, a in zip(*np.nonzero(statistics.action_counts), strict=True)
    }
    return steps, rewards


def test_a_case_stops_where_people_act():
    learner = aw.SeqOOS(problem())
    case = following(learner, LAB_THEN_SCAN)
    case.observe({"lab": "yes"})
    assert case.wanted == ("scan",)
    case.act("treat")
    assert (case.wanted, case.action, case.cost) == ((), "treat", 0.25)
    assert (case.is_overruled, case.is_apart, case.propensity) == (True, True, None)
    case.reward(1.0)
    assert counted(learner) == ({("{}", "lab"): 1}, {})  # the look was the learner's own
    assert learner.statistics.overrides.by_action() == [("treat", 1, 1, 1.0)]


def test_what_is_done_by_who_knew_no_more_is_counted_there():
    learner = aw.SeqOOS(problem())
    case = following(learner, LAB_THEN_SCAN)
    case.observe({"lab": "yes"})
    case.act("treat", knew_more=False, propensity=0.25)
    assert case.propensity == (1.0, 0.25)
    case.reward(0.5)
    assert counted(learner) == ({("{}", "lab"): 1}, {("{'lab': 'yes'}", "treat"): 1})
    assert learner.statistics.cases == 1
    assert learner.statistics.overrides.by_action() == [("treat", 1, 1, 0.5)]


def test_advice_that_was_followed_is_counted_where_it_was_given():
    """What people looked at afterwards does not matter, nor that they had second thoughts."""
    learner = aw.SeqOOS(problem())
    case = following(learner, LAB_THEN_SCAN)
    case.observe({"lab": "no"})
    assert case.action == "wait"
    case.observe({"scan": "yes"}, unasked=True)
    case.act("operate")
    assert learner.statistics.overrides.cases == 1
    case.act("wait")
    assert (case.is_overruled, case.state, case.cost) == (False, {"lab": "no", "scan": "yes"}, 0.75)
    case.reward(1.0)
    assert counted(learner)[1] == {("{'lab': 'no'}", "wait"): 1}
    overrides = learner.statistics.overrides
    assert (overrides.cases, overrides.by_action(), overrides.looks()) == (0, [], {"scan": 1})


@pytest.mark.parametrize("kind", [aw.SimOOS, aw.Learner, aw.baselines.RandomChoice])
def test_looks_after_the_advice_do_not_change_how_likely_it_was(kind):
    options = {"acquisition": "simultaneous"} if kind is aw.Learner else {}
    learner, looked = kind(problem(), rng=1, **options), 0
    for _ in range(30):
        case = learner.open()
        while case.wanted:
            case.observe(dict.fromkeys(case.wanted, "no"))
        before = case.propensity
        if len(case.state) < 2:
            unknown = next(name for name in ("lab", "visit") if name not in case.state)
            case.observe({unknown: "yes"}, unasked=True)
            looked += 1
        assert case.propensity == before
        case.reward(1.0)
    assert looked


def test_people_who_looked_further_and_knew_no_more_are_counted_where_they_acted():
    learner = aw.SeqOOS(problem())
    case = following(learner, LAB_THEN_SCAN)
    case.observe({"lab": "no"})
    case.observe({"scan": "yes"}, unasked=True, knew_more=False)
    case.act("operate", knew_more=False)
    case.reward(1.0)
    assert counted(learner)[1] == {("{'lab': 'no', 'scan': 'yes'}", "operate"): 1}


@pytest.mark.parametrize("knew_more", [True, False])
def test_an_unasked_look_is_a_fair_sample_only_of_who_knew_no_more(knew_more):
    learner = aw.SeqOOS(problem())
    case = following(learner, {(): "lab", (("visit", "no"),): "lab"})
    case.observe({"visit": "no"}, unasked=True, knew_more=knew_more)
    assert (case.wanted, case.propensity) == (("lab",), None)
    case.observe({"lab": "no"})
    case.reward(1.0)
    after = {("{'visit': 'no'}", "lab"): 1}
    assert counted(learner)[0] == after | ({} if knew_more else {("{}", "visit"): 1})
    assert counted(learner)[1] == {("{'lab': 'no', 'visit': 'no'}", "wait"): 1}
    assert learner.statistics.overrides.looks() == {"visit": 1}


def test_of_a_set_what_was_asked_for_is_a_fair_sample():
    """Unless people used up what may be looked at, so that a part of the set was left out."""
    learner = aw.SimOOS(problem())
    case = following(learner, bought=["lab"])
    case.observe({"lab": "yes", "visit": "no"}, unasked=True)
    assert case.action == "wait"
    statistics, lattice = learner.statistics, learner.statistics.lattice
    assert (statistics.cases, statistics.visits.sum()) == (1, 0)
    three = aw.SimOOS(aw.Problem(observations=problem().observations, actions=["wait", "treat"]))
    case = following(three, bought=["lab"])
    case.observe({"visit": "no"}, unasked=True)
    case.observe({"lab": "yes"})
    statistics, lattice = three.statistics, three.statistics.lattice
    assert {str(lattice.state(s)) for s in np.flatnonzero(statistics.visits)} == {
        "{}", "{'lab': 'yes'}"
    }  # fmt: skip


def test_of_a_part_of_a_set_nothing_is_learned_but_the_reward():
    learner = aw.SimOOS(problem())
    case = following(learner, bought=["lab", "scan"])
    case.observe({"lab": "yes"})
    case.act("treat", knew_more=False)
    case.reward(1.0)
    assert learner.statistics.visits.sum() == 0
    assert counted(learner)[1] == {("{'lab': 'yes'}", "treat"): 1}


def test_the_same_as_was_advised_is_no_override():
    learner = aw.SeqOOS(problem())
    case = following(learner, {})
    before = case.propensity
    case.act("wait")
    assert (case.is_overruled, case.propensity) == (False, before)
    case.reward(1.0)
    assert counted(learner)[1] == {("{}", "wait"): 1}


def test_defaults_and_corrections_of_what_is_apart_stay_apart():
    learner = aw.SeqOOS(problem())
    case = following(learner, {})
    case.act("treat")
    case.reward_by_default(0.0)
    assert case.id in learner.cases
    case.reward(1.0)
    case.reward(0.5, replaces=True)
    assert counted(learner)[1] == {}
    assert learner.statistics.overrides.by_action() == [("treat", 1, 1, 0.5)]


def test_what_people_cannot_have_done_is_refused():
    learner = aw.SeqOOS(problem())
    case = following(learner, LAB_THEN_SCAN)
    refused = [
        (lambda: case.act("operate"), "action 'operate' requires scan"),
        (lambda: case.act("pray"), "unknown action 'pray'"),
        (lambda: case.act("wait", propensity=0.0), "propensity must be a number above 0"),
        (lambda: case.act("wait", knew_more=None), "knew_more must be True or False"),
        (lambda: case.observe({"scan": "no"}), "not wanted .* unasked=True takes"),
        (lambda: case.observe({"scan": "maybe"}, unasked=True), "no value 'maybe'"),
        (
            lambda: case.observe({"lab": "no", "scan": "no", "visit": "no"}, unasked=True),
            "over max_observations, 2",
        ),
    ]
    for attempt, message in refused:
        with pytest.raises(CaseError, match=message):
            attempt()
        assert (case.wanted, case.state, case.is_overruled) == (("lab",), {}, False)
    case.act("wait")
    case.reward(1.0)
    for attempt in (lambda: case.act("treat"), lambda: case.observe({"lab": "no"}, unasked=True)):
        with pytest.raises(CaseError, match="has its reward already"):
            attempt()
    assert learner.statistics.overrides.by_action() == [("wait", 1, 1, 1.0)]


def test_what_people_did_is_merged_saved_and_told_in_money():
    one, other = (aw.SeqOOS(problem(rewards=(-10.0, 30.0))) for _ in range(2))
    for learner, reward in ((one, 30.0), (other, -10.0)):
        case = following(learner, {})
        case.act("treat")
        following(learner, LAB_THEN_SCAN).act("treat")
        case.reward(reward)
    open_case = max(one.cases)
    one = aw.learners.from_bytes(one.to_bytes())
    assert (one.cases[open_case].is_apart, one.cases[open_case].action) == (True, "treat")
    one.merge(other)
    assert one.statistics.overrides.by_action() == [("treat", 4, 2, 10.0)]
    assert repr(one.statistics.overrides) == "<Overrides: people did treat 4 times>"
    one.cases[open_case].reward(10.0)
    assert one.statistics.overrides.by_action() == [("treat", 4, 3, 10.0)]


@pytest.mark.parametrize(
    ("scale", "reward"),
    [
        ({"rewards": (-100.0, 6.0)}, -10.0),
        ({"rewards": (-1e9, 0.0)}, -70.0),
        ({"rewards": (-1e-6, 2e-6)}, 1.1e-6),
        ({"reward_value": 1e9}, 0.3),
    ],
)
def test_the_mean_of_equal_rewards_is_that_reward(scale, reward):
    learner = aw.SeqOOS(problem(**scale))
    for _ in range(4):
        case = following(learner, {})
        case.act("treat")
        case.reward(reward)
    assert learner.statistics.overrides.by_action() == [("treat", 4, 4, reward)]


def test_a_second_report_of_the_same_action_may_not_contradict_the_first():
    case = following(aw.SeqOOS(problem()), {})
    case.act("treat")
    case.act("treat")
    for told in ({"knew_more": False}, {"propensity": 0.5}):
        with pytest.raises(CaseError, match="knew_more and propensity are told with the first"):
            case.act("treat", **told)
    assert case.is_apart
    case.act("wait", knew_more=False)  # the advice after all
    assert not case.is_overruled


@pytest.mark.parametrize("huge", [10**400, -(10**400), float("inf"), float("nan")])
def test_a_huge_number_is_an_error_like_others(huge):
    case = following(aw.SeqOOS(problem()), {})
    with pytest.raises(CaseError, match="propensity must be a number above 0"):
        case.act("treat", propensity=huge)
    with pytest.raises(CaseError, match="reward must be a number from 0 to 1"):
        case.reward(huge)
    assert case.share is None
