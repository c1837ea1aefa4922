"""Cases with stakes in simulation, in what is recommended, and in what observations are worth."""

import re

import numpy as np
import pytest

import askwise as aw
from askwise.errors import CaseError, ModelError, TableError
from askwise.policy.expected_gain import expected_spend
from askwise.problem.stakes import problem_at_stake
from askwise.simulation.environments import Population, Staked, Table, breast_cancer
from askwise.testing import check_environment
from inside import rounds_of, strategy_of

MODEL = breast_cancer(cost=5.0)


def without_stake(worth):
    """What is printed, except the sentence that names the stake."""
    return re.sub(r"\n\nFor a stake of [\d.]+\.", "", str(worth))


def amounts(rng, cases):
    return np.exp(rng.normal(0.0, 1.0, cases))


@pytest.fixture(name="patients", scope="module")
def patients_fixture():
    return Staked(Population(MODEL), amounts)


@pytest.fixture(name="learner", scope="module")
def learner_fixture():
    learner = aw.Learner(MODEL.problem, rng=0)
    aw.simulate(learner, Population(MODEL), steps=1_500, rng=0)
    return learner


def test_an_environment_with_stakes_is_one(patients):
    check_environment(lambda: patients)


def test_a_run_counts_every_reward_as_often_as_its_stake(patients):
    run = aw.simulate(aw.Learner(MODEL.problem, rng=0), patients, steps=400, rng=0)
    columns = run.frame()
    assert columns["stake"] == run.stakes.tolist()
    gain = 100.0 * run.stakes * run.reward - run.cost
    np.testing.assert_array_equal(run.gain, gain)
    assert columns["gain"] == gain.tolist()
    assert "stake" not in aw.simulate(aw.Learner(MODEL.problem), Population(MODEL), steps=5).frame()


@pytest.mark.parametrize("log", [False, True])
def test_it_decides_as_case_by_case(patients, log):
    run = aw.simulate(aw.Learner(MODEL.problem, rng=3), patients, steps=60, rng=4, log=log)
    learner = aw.Learner(MODEL.problem, rng=3)
    draws = patients.draw(np.random.default_rng(4), 16_384)
    observations = MODEL.problem.observations
    for t in range(60):
        case = learner.open(stake=float(draws.stakes[t]))
        while case.wanted:
            shown = {
                o.name: o.values[x] for o, x in zip(observations, draws.values[t], strict=True)
            }
            case.observe({name: shown[name] for name in case.wanted})
        assert (case.state_index, case.action_index) == (run.state[t], run.action[t])
        case.reward(float(draws.rewards[t, case.action_index]))


def test_more_is_bought_where_more_is_at_stake():
    run = aw.simulate(
        aw.Learner(MODEL.problem, rng=0),
        Staked(Population(MODEL), lambda rng, cases: np.where(rng.random(cases) < 0.5, 0.05, 20.0)),
        steps=1_000,
        rng=0,
    )
    low, high = (run.cost[run.stakes == stake].mean() for stake in (0.05, 20.0))
    assert high > 3 * low


def test_a_table_has_a_column_of_stakes():
    problem = aw.Problem(
        observations=[aw.Observation("mri", values=["neg", "pos"], cost=9)],
        actions=["wait", "treat"],
    )
    rows = {"mri": ["neg", "pos"], "wait": [1, 0], "treat": [0.5, 1], "amount": [2.0, 30.0]}
    table = Table(problem, rows, stake="amount")
    draws = table.draw(np.random.default_rng(0), 50)
    np.testing.assert_array_equal(draws.stakes, np.where(draws.values[:, 0] == 0, 2.0, 30.0))
    for wrong in (0.0, -1.0, float("nan"), "many", None):
        with pytest.raises(TableError, match="column 'amount', row 1: stake must be"):
            Table(problem, rows | {"amount": [2.0, wrong]}, stake="amount")
    with pytest.raises(ModelError, match=r"function of \(rng, cases\)"):
        Staked(table, 3.0)


def test_what_an_environment_may_not_stake_is_refused():
    wrong = Staked(Population(MODEL), lambda rng, cases: np.zeros(cases))
    with pytest.raises(CaseError, match="stake must be a finite number above 0"):
        aw.simulate(aw.Learner(MODEL.problem), wrong, steps=3)


# --- what is recommended, and what observations are worth ------------------------------------


@pytest.mark.parametrize("stake", [0.1, 1.0, 7.5])
def test_what_is_recommended_at_a_stake_is_that_of_the_problem_at_that_stake(learner, stake):
    """A stake is a common factor of β: the same counters in a problem of that β say the same."""
    other = aw.Learner(problem_at_stake(MODEL.problem, stake), rng=0)
    other.statistics.action_counts[...] = learner.statistics.action_counts
    other.statistics.reward_sums[...] = learner.statistics.reward_sums
    other.statistics.cases = learner.statistics.cases
    found, expected = learner.recommend(stake=stake), other.recommend()
    assert found.tree().outline() == expected.tree().outline()
    assert found.value == pytest.approx(expected.value)
    assert without_stake(aw.worth(learner, stake=stake)) == str(aw.worth(other))


def test_the_worth_in_a_known_population_is_that_of_the_model_at_the_stake():
    twin = aw.Model(problem_at_stake(MODEL.problem, 3.0), MODEL.probability, MODEL.reward)
    assert without_stake(aw.worth(MODEL, stake=3.0)) == str(aw.worth(twin))
    assert aw.worth(MODEL, stake=3.0).gain > 3.0 * aw.worth(MODEL).gain


@pytest.mark.parametrize("kind", [aw.SeqOOS, aw.SimOOS, "additive"])
def test_every_learner_recommends_for_a_stake(kind):
    if kind == "additive":
        learner = aw.Learner(MODEL.problem, rng=0, model="additive")
    else:
        learner = kind(MODEL.problem)
    aw.simulate(learner, Population(MODEL), steps=1_500, rng=0)
    little, usual, much = (learner.recommend(stake=stake) for stake in (1e-3, 1.0, 50.0))
    assert "buying nothing" in little.tree().outline()
    assert usual.tree() == learner.recommend().tree()
    assert much.value > 45 * usual.value
    assert much.problem.reward_value == 50 * usual.problem.reward_value


@pytest.mark.parametrize("acquisition", ["sequential", "simultaneous"])
@pytest.mark.parametrize("kind", ["joint", "additive"])
def test_a_budget_is_for_all_cases_together(kind, acquisition):
    """The price of the budget is the same at every stake."""
    mri = aw.Observation("mri", values=["neg", "pos"], cost=9.0)
    problem = aw.Problem(observations=[mri], actions=["wait", "treat"], reward_value=100.0)
    model = aw.Model(problem, [0.8, 0.2], [[1, 0], [0, 1]])
    options = {"model": kind, "acquisition": acquisition, "rng": 0}
    learner = aw.Learner(problem, budget=aw.Budget(spend_per_case=2.0), **options)
    aw.simulate(learner, Population(model), steps=400, rng=0)
    policy, rounds = learner.replan(), rounds_of(learner)
    price = learner.recommend().shadow_price
    for found in (price, strategy_of(learner).spending.shadow_price.item(0)):
        assert found == pytest.approx(11 / 9, rel=0.5)
    assert "if every case has a stake of 1" in learner.recommend().note
    for stake, wanted in ((0.3, ()), (5.0, ("mri",))):  # worth 20 · stake, for 9 · (1 + λ)
        found = learner.recommend(stake=stake)
        assert found.shadow_price == price
        assert f"a stake of {stake:g}" in found.note.replace("5.00", "5")
        assert found.wanted({}) == wanted
        live = rounds.policy_for_case(policy, rounds.now.lattice, 0, 0, stake)
        assert live.wanted({}) == wanted
        assert found.problem.observations[0].cost == 9.0
    worth = aw.worth(learner, stake=5.0)
    assert worth["mri"].break_even == pytest.approx(100, rel=0.2)  # without the budget
    assert aw.still_to_learn(learner, stake=5.0) == worth.still_to_learn
    assert "planned at the budget's shadow price" in str(aw.explain(learner, stake=5.0))
    with pytest.raises(CaseError, match="stake must be a finite number above 0"):
        learner.recommend(stake=0.0)


def test_a_log_of_cases_with_stakes_has_rewards_of_a_stake_of_one(patients):
    run = aw.simulate(aw.Learner(MODEL.problem, rng=0), patients, steps=300, rng=0, log=True)
    without = {name: column for name, column in run.frame().items() if name != "stake"}
    one, other = (aw.fit(log, MODEL.problem).statistics for log in (run.frame(), without))
    np.testing.assert_array_equal(one.reward_sums, other.reward_sums)
    assert one.cases == 300


def test_what_a_policy_for_a_stake_gains_is_found_in_a_log():
    """In money: the log's rewards lie between the ends of a stake of 1."""
    observations = [aw.Observation("mri", values=["neg", "pos"], cost=1.0)]
    problem = aw.Problem(observations=observations, actions=["wait", "treat"], rewards=(-50, 10))
    model = aw.Model(problem, [0.7, 0.3], [[10.0, -10.0], [-50.0, 5.0]])
    learner = aw.Learner(problem, rng=0)
    run = aw.simulate(learner, Population(model), steps=2_000, rng=0, log=True)
    policy = learner.recommend(stake=4.0)
    found = aw.off_policy(policy, run.frame()).snips
    assert policy.evaluate(model) == pytest.approx(4 * (0.7 * 10 + 0.3 * 5) - 1)
    assert found.low <= policy.evaluate(model) <= found.high


def test_recommendations_for_all_stakes_spend_the_budget_together():
    """They were once planned at the shadow price of the round, which corrects what was spent."""
    kinds = {0.25: 0.45, 1.0: 0.4, 4.0: 0.15}
    problem = aw.Problem(
        observations=[aw.Observation("test", values=["-", "+"], cost=4.0)],
        actions=["ignore", "dig"],
        rewards=(-100.0, 100.0),
    )
    model = aw.Model(problem, [0.62, 0.38], [[-5.8, -32.3], [-37.9, 10.5]])
    desk = Staked(
        Population(model), lambda rng, cases: rng.choice(list(kinds), cases, p=list(kinds.values()))
    )
    learner = aw.Learner(problem, budget=aw.Budget(spend_per_case=0.8), rng=3)
    aw.simulate(learner, desk, steps=2_000, rng=3)
    found = {stake: learner.recommend(stake=stake) for stake in kinds}
    assert len({policy.shadow_price for policy in found.values()}) == 1
    p = learner.evidence().probability
    spent = sum(kinds[stake] * expected_spend(policy, p) for stake, policy in found.items())
    assert spent == pytest.approx(0.8, rel=0.05)  # stakes came nearly as often as they are drawn
    assert found[4.0].wanted({}) == ("test",)


def test_stakes_that_are_not_one_a_case_are_refused():
    few = Staked(Population(MODEL), lambda _rng, _cases: np.ones(3))
    with pytest.raises(ModelError, match=r"one a case, got one of the shape \(3,\)"):
        aw.simulate(aw.Learner(MODEL.problem, rng=0), few, steps=10, rng=0)
