"""What actions cost and require, and what looks require, in learners, runs and figures."""

import numpy as np
import pytest

import askwise as aw
from askwise.errors import CaseError, OptionError, TooLargeError
from askwise.learners import LEARNERS
from askwise.learners.strategy import Strategy
from askwise.policy.acquisition import Simultaneous
from askwise.simulation.environments import Population
from askwise.states import Lattice
from askwise.testing.playing import takes_rules, with_rules

MODEL = with_rules(np.random.default_rng(0))
PROBLEM = MODEL.problem
HONOUR = [
    "learner",
    "sim-oos",
    "seq-oos",
    "psrl",
    "rlsvi",
    "adaptive-greedy",
    "ucrl2",
    "ncc-ucrl2",
    "contextual-ucb",
    "contextual-zooming",
    "releaf",
    "fixed-set",
    "no-information",
    "lin-ucb",
    "epoch-greedy",
    "online-probing",
    "random-choice",
]


def test_those_learners_that_the_page_names_honour_rules_and_others_say_why_not():
    assert [name for name in LEARNERS if takes_rules(LEARNERS[name], PROBLEM)] == HONOUR
    with pytest.raises(OptionError, match="observations require, because it estimates gradients"):
        aw.baselines.BudgetedRegression(PROBLEM)
    with pytest.raises(TooLargeError, match="policies"):
        aw.baselines.PolicyUCB(PROBLEM)


@pytest.mark.parametrize("option", ["budget", "explore"])
def test_options_of_the_default_learner_only_say_so(option):
    with pytest.raises(OptionError, match=f"{option} is an option of the default learner only"):
        aw.learners.make("seq-oos", PROBLEM, {option: 0.5})


class HonoursNothing(Strategy):
    """A strategy that does not say that it supports rules."""

    acquisition = Simultaneous()

    def plan(self, now, lattice):
        raise NotImplementedError


def test_a_learner_that_does_not_say_that_it_honours_rules_refuses_them():
    class Other(aw.learners.BaseLearner):
        name = "other"

    with pytest.raises(OptionError, match="other cannot reckon with what actions cost"):
        Other(Lattice(PROBLEM), HonoursNothing(), {})


WORTH_IT = aw.Problem(
    observations=[aw.Observation("form", values=["a", "b"], cost=0.02)],
    actions=["pay out", aw.Action("review", cost=0.3), aw.Action("deny", requires=["form"])],
)
"""Reviewing earns most, but costs more than it earns; to deny after b is best, and needs the form.
"""


@pytest.mark.parametrize(
    ("name", "options", "least"),
    [
        ("ucrl2", {"exploration": 0.02}, 0.70),
        ("contextual-zooming", {"exploration": 0.2}, 0.70),
        ("releaf", {"tolerance": 0.5}, 0.70),
        ("lin-ucb", {}, 0.70),
        ("epoch-greedy", {}, 0.62),
        ("online-probing", {}, 0.60),
        ("policy-ucb", {"exploration": 0.2}, 0.65),
    ],
)
def test_comparators_subtract_what_actions_cost_and_take_only_what_is_allowed(name, options, least):
    model = aw.Model(WORTH_IT, [0.5, 0.5], [[0.8, 0.9, 0.1], [0.3, 0.9, 0.9]])
    best = aw.oracle.simultaneous(model).value
    assert best == pytest.approx(0.83)
    learner = LEARNERS[name](WORTH_IT, rng=1, **options)
    run = aw.simulate(learner, Population(model), steps=6_000, rng=2)
    assert run.gain[3_000:].mean() > least
    rows = run.frame()
    assert all(
        bought or action != "deny"
        for bought, action in zip(rows["bought"], rows["action"], strict=True)
    )


def test_budgeted_regression_subtracts_what_actions_cost():
    actions = ["pay out", aw.Action("review", cost=0.3), "deny"]
    problem = aw.Problem(observations=WORTH_IT.observations, actions=actions)
    model = aw.Model(problem, [0.5, 0.5], [[0.8, 0.9, 0.1], [0.3, 0.9, 0.9]])
    learner = aw.baselines.BudgetedRegression(problem, rng=1)
    run = aw.simulate(learner, Population(model), steps=6_000, rng=2)
    assert run.gain[3_000:].mean() > 0.8


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in HONOUR),
        ("learner", {"acquisition": "simultaneous"}),
        ("learner", {"model": "additive"}),
        ("learner", {"model": "additive", "acquisition": "simultaneous"}),
        ("psrl", {"acquisition": "simultaneous"}),
    ],
)
def test_runs_do_what_is_allowed_and_gain_what_is_left(name, options):
    learner = LEARNERS[name](PROBLEM, rng=1, **options)
    run = aw.simulate(learner, Population(MODEL), steps=400, rng=2)
    rows, price = run.frame(), {o.name: o.cost for o in PROBLEM.observations}
    by_name = {action.name: action for action in PROBLEM.actions}
    for k, action in enumerate(rows["action"]):
        bought = [b for b in rows["bought"][k].split(",") if b]
        known = {"age", *bought}
        assert {*by_name[action].requires} <= known
        for o in PROBLEM.observations:
            assert o.name not in bought or {*o.requires} <= known
        spent = by_name[action].cost + sum(price[b] for b in bought)
        assert rows["cost"][k] == pytest.approx(spent, abs=1e-12)
        assert rows["gain"][k] == pytest.approx(rows["reward"][k] - spent, abs=1e-12)


def test_the_default_learner_finds_what_pays_only_by_what_it_allows():
    """The look tells nothing; but the best action requires it."""
    look = aw.Observation("form", values=["a", "b"], cost=0.05)
    problem = aw.Problem(
        observations=[look],
        actions=[aw.Action("review", cost=0.1), aw.Action("pay out", requires=["form"])],
    )
    model = aw.Model(problem, [0.5, 0.5], [[0.5, 0.9], [0.5, 0.9]])
    best = aw.oracle.sequential(model)
    assert best.value == pytest.approx(0.85)
    for options in ({}, {"acquisition": "simultaneous"}, {"model": "additive"}):
        learner = aw.Learner(problem, rng=0, **options)
        aw.simulate(learner, Population(model), steps=1_500, rng=0)
        recommended = learner.recommend()
        assert recommended.evaluate(model) == pytest.approx(0.85)
        assert recommended.tree().root.reason.gain == pytest.approx(0.85, abs=0.05)
        assert aw.worth(learner).gain == pytest.approx(recommended.value)


def test_a_set_must_have_what_its_members_require():
    with pytest.raises(OptionError, match="observations: 'scan' requires visit too"):
        aw.baselines.FixedSet(PROBLEM, observations=["scan"])


def test_people_are_told_what_an_action_requires():
    case = aw.SeqOOS(PROBLEM).open({"age": "old"})
    with pytest.raises(CaseError, match=r"action 'operate' requires .*scan"):
        case.act("operate")
    assert case.action != "operate"


def test_many_observations_of_which_actions_require_some():
    """The shortlist has what actions require, whatever seems to matter."""
    observations = [
        aw.Observation(f"o{i}", values=[0, 1], cost=0.01, requires=[f"o{i + 1}"] if i < 3 else [])
        for i in range(12)
    ]
    actions = [aw.Action("wait", cost=0.02), aw.Action("treat", requires=["o1"])]
    problem = aw.Problem(observations=observations, actions=actions, max_observations=4)
    rng = np.random.default_rng(5)
    learner = aw.Learner(problem, rng=3)
    assert "additive" in repr(learner)
    for _ in range(300):
        full = {o.name: int(rng.random() < 0.5) for o in observations}
        case = learner.open()
        while case.wanted:
            for name in case.wanted:
                (o,) = (one for one in observations if one.name == name)
                assert {*o.requires} <= {*case.state}
            case.observe({name: full[name] for name in case.wanted})
        assert case.action == "wait" or "o1" in case.state
        assert all(0 < p <= 1 for p in case.propensity)
        case.reward(float(rng.random() < (0.8 if case.action == "treat" else 0.3)))
    assert "treat" in str(learner.recommend().tree())
