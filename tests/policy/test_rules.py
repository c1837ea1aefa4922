"""Rules that people follow as policies, and cases that follow a policy."""

import itertools

import numpy as np
import pytest

import askwise as aw
from askwise.errors import CaseError, OptionError
from askwise.simulation.environments import breast_cancer, random_model

ANSWERS = itertools.cycle(["wait", "treat"])


def as_rule(policy):
    def rule(known):
        wanted = policy.wanted(known)
        return wanted[0] if wanted else policy.action(known)

    return rule


@pytest.mark.parametrize("seed", range(5))
def test_a_policy_as_a_rule_is_the_same_policy(seed):
    model = random_model(np.random.default_rng(seed), [2, 3, 2], max_observations=2)
    best = aw.oracle.sequential(model)
    rule = aw.Policy.from_rule(model.problem, as_rule(best))
    assert rule.tree().outline() == best.tree().outline()
    assert rule.evaluate(model) == pytest.approx(best.value)
    assert rule.observations == best.observations
    assert repr(rule) == "<Policy, sequential>"
    assert rule.copy().evaluate(model) == pytest.approx(best.value)


def problem_of(**more):
    return aw.Problem(
        observations=[
            aw.Observation("mri", values=["neg", "pos"], cost=1.0),
            aw.Observation("ct", values=["neg", "pos"], cost=1.0),
        ],
        actions=["wait", "treat"],
        max_observations=1,
        **more,
    )


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda known: "operate", "says 'operate'"),
        (lambda known: None, "says None"),
        (lambda known: "mri", "looks at 'mri' when .* is known already"),
        (lambda known: "ct" if known else "mri", "at most 1"),
        (lambda known: next(ANSWERS), "two answers"),
        ("wait", "a rule is a function"),
    ],
)
def test_contradictions_are_refused(rule, message):
    with pytest.raises(OptionError, match=message):
        aw.Policy.from_rule(problem_of(), rule)


def test_a_rule_keeps_to_what_actions_and_looks_require():
    problem = aw.Problem(
        observations=[
            aw.Observation("mri", values=["neg", "pos"], cost=1.0),
            aw.Observation("ct", values=["neg", "pos"], cost=1.0, requires=["mri"]),
        ],
        actions=["wait", aw.Action("treat", requires=["mri"])],
    )
    with pytest.raises(OptionError, match=r"does 'treat' .* requires 'mri'"):
        aw.Policy.from_rule(problem, lambda known: "treat")
    with pytest.raises(OptionError, match=r"looks at 'ct' .* requires 'mri'"):
        aw.Policy.from_rule(problem, lambda known: "wait" if known else "ct")
    allowed = aw.Policy.from_rule(problem, lambda known: "treat" if known else "mri")
    assert allowed.action({"mri": "neg"}) == "treat"


def test_an_observation_called_like_an_action_is_refused():
    problem = aw.Problem(
        observations=[aw.Observation("wait", values=[0, 1], cost=1.0)], actions=["wait", "go"]
    )
    with pytest.raises(OptionError, match="is an observation and an action"):
        aw.Policy.from_rule(problem, lambda known: "go")


def test_cases_follow_a_policy_and_nothing_is_learned():
    model = breast_cancer(cost=5.0)
    policy, rng = aw.oracle.sequential(model), np.random.default_rng(1)
    total = 0.0
    for place in model.sample(rng, 3_000).tolist():
        observations = model.problem.observations
        values = {o.name: o.outcomes[x] for o, x in zip(observations, place, strict=True)}
        case = policy.open()
        while case.wanted:
            case.observe({name: values[name] for name in case.wanted})
        reward = model.reward[tuple(place)][model.problem.action_names.index(case.action)]
        assert set(case.propensity) == {1.0}
        total += 100.0 * reward - case.cost
        if place[0]:
            case.reward(reward)  # it may be told, or not
    assert total / 3_000 == pytest.approx(policy.value, rel=0.03)


def test_what_is_on_file_is_not_bought_again():
    model = breast_cancer(cost=5.0)
    for policy in (aw.oracle.sequential(model), aw.oracle.simultaneous(model)):
        case = policy.open({"WHO score": 0})
        assert "WHO score" not in case.wanted
        assert case.cost == 0.0
    with pytest.raises(CaseError, match="unknown observation"):
        policy.open({"weight": 3})
    rule = aw.Policy.from_rule(problem_of(), lambda known: "wait")
    with pytest.raises(CaseError, match="it does not lead there"):
        rule.open({"mri": "neg"})


def test_a_mixture_is_followed_by_chance_as_its_seed_says():
    model = breast_cancer(cost=5.0)
    policy = aw.oracle.sequential(model, budget=aw.Budget(spend_per_case=4.0))
    rng = np.random.default_rng(3)
    first = [policy.open(rng=rng).wanted for _ in range(4_000)]
    shares = dict(zip(("looks", "acts"), (share for share, _ in policy.parts[::-1]), strict=True))
    assert np.mean([bool(wanted) for wanted in first]) == pytest.approx(shares["looks"], abs=0.03)
    again = np.random.default_rng(3)
    assert first[:50] == [policy.open(rng=again).wanted for _ in range(50)]
    case = policy.open(rng=1)
    assert case.propensity[0] == pytest.approx(shares["looks" if case.wanted else "acts"])
