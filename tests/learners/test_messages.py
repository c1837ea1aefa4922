"""What a learner says where something was reported that it cannot take."""

import math

import pytest

import askwise as aw
from askwise.errors import CaseError, OptionError, ProblemError


def desk():
    return aw.Problem(
        observations=[
            aw.Observation("database", values=["hit", "clean"], cost=1.0, fails="charged")
        ],
        actions=["pay", aw.Action("adjuster", cost=90.0)],
        rewards=(-500.0, 30.0),
    )


def acted(learner, **options):
    case = learner.open(**options)
    while case.wanted:
        case.observe({"database": "clean"})
    return case


def test_a_case_that_waits_for_no_reward_is_not_found():
    learner = aw.Learner(desk(), rng=0)
    case, other = acted(learner), acted(learner)
    learner.cases[case.id].reward(1.0)
    other.cancel()
    for number in (case.id, other.id):
        with pytest.raises(
            CaseError, match=rf"^case {number} waits for no reward: it was rewarded"
        ):
            learner.cases[number].reward(1.0)
    for number in (3, 0, "8001"):
        with pytest.raises(CaseError, match="is unknown: 2 cases were opened"):
            learner.cases[number]
    with pytest.raises(KeyError):
        learner.cases[case.id]
    assert case.id not in learner.cases
    assert learner.cases.get(case.id) is None


def test_a_reward_that_was_not_divided_by_the_stake():
    learner = aw.Learner(desk(), rng=0)
    case = acted(learner, stake=10.0)
    with pytest.raises(CaseError, match=r"per unit of stake, .* a stake of 10: report -500$"):
        case.reward(-5_000.0)
    with pytest.raises(CaseError, match="declare wider rewards"):
        case.reward(-50_000.0)
    with pytest.raises(CaseError, match="declare wider rewards"):
        acted(learner).reward(-5_000.0)
    case.reward(-500.0)


@pytest.mark.parametrize("reward", [None, math.nan])
def test_a_reward_that_is_not_known(reward):
    case = acted(aw.Learner(desk(), rng=0))
    with pytest.raises(CaseError, match=r"cancel\(\) .* reward_by_default"):
        case.reward(reward)


def test_an_observation_after_the_reward():
    case = acted(aw.Learner(desk(), rng=0))
    case.reward(1.0)
    with pytest.raises(CaseError, match=f"case {case.id} has its reward already"):
        case.observe({"database": "hit"}, unasked=True)


def test_the_price_of_an_action():
    with pytest.raises(ProblemError, match=r"'adjuster' is an action.*Action\('adjuster', cost="):
        aw.Learner(desk()).reprice({"adjuster": 90.0})


def test_a_rule_that_raises_an_error():
    def rule(known):
        return {"hit": "pay"}[known["database"]] if known else "database"

    with pytest.raises(OptionError, match=r"\{'database': .*\} is known: KeyError: '?") as raised:
        aw.Policy.from_rule(desk(), rule)
    assert isinstance(raised.value.__cause__, KeyError)
