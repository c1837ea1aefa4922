"""Learners within a budget: held while they run, counted exactly, and as good as it allows."""

import numpy as np
import pytest

import askwise as aw
from askwise.errors import FileError, OptionError
from askwise.learners.spending import UNITS, Spending
from askwise.simulation.environments import Population, breast_cancer, random_model
from askwise.states import Lattice
from askwise.testing import LEARNER_CHECKS
from inside import rounds_of, strategy_of


def budget(spend):
    return aw.Budget(spend_per_case=spend)


def spending_of(learner):
    return strategy_of(learner).spending


@pytest.mark.parametrize("model", ["joint", "additive"])
@pytest.mark.parametrize("acquisition", ["sequential", "simultaneous"])
def test_held_within_one_per_cent_over_20_000_cases(acquisition, model):
    population = breast_cancer(cost=5.0)
    best = getattr(aw.oracle, acquisition)(population, budget=budget(6.0))
    options = {"acquisition": acquisition, "model": model, "budget": budget(6.0)}
    learner = aw.Learner(population.problem, **options, rng=1)
    run = aw.simulate(learner, Population(population), steps=20_000, rng=2)
    assert run.cost.mean() == pytest.approx(6.0, rel=0.01)
    assert run.gain.mean() > 0.9 * best.value
    found = learner.recommend()
    assert found.evaluate(population) > 0.97 * best.value
    assert found.shadow_price == pytest.approx(best.shadow_price, rel=0.4)
    assert "Within 6 a case it spends 6" in found.note
    assert "one more to spend would add" in str(aw.explain(learner))


@pytest.mark.parametrize("seed", range(3))
def test_held_where_a_case_spends_all_or_nothing(seed):
    """With prices of many times the budget, what luck does to the average is largest."""
    rng = np.random.default_rng(seed)
    population = random_model(rng, [3, 2], actions=3, highest_cost=0.05)
    prices = {"o0": 0.12, "o1": 0.09}
    population = aw.Model(
        population.problem.priced(prices), population.probability, np.round(population.reward)
    )
    most = aw.oracle.sequential(population)
    spend = 0.15 * aw.oracle.frontier(population)[-1].spend
    assert spend > 0, most
    learner = aw.Learner(population.problem, budget=budget(spend), rng=seed)
    run = aw.simulate(learner, Population(population), steps=20_000, rng=seed)
    assert run.cost.mean() == pytest.approx(spend, rel=0.01)


def population_of_a_few_states():
    population = random_model(np.random.default_rng(0), [3, 2], actions=3, highest_cost=0.05)
    problem = population.problem.priced({"o0": 0.12, "o1": 0.09})
    return aw.Model(problem, population.probability, np.round(population.reward))


CASES = 5_000
"""Enough for 1 % to tell a learner that keeps to its budget from one that does not."""


def mean_spend(learner, population, terms, cases):
    """The mean spend of cases with their own stakes and prices; `terms` draws those of a case."""
    rng, spent = np.random.default_rng(4), 0.0
    outcomes = {o.name: o.values for o in population.problem.observations}
    for values in population.sample(rng, cases).tolist():
        full = {name: outcomes[name][k] for name, k in zip(outcomes, values, strict=True)}
        case = learner.open(**terms(rng))
        while case.wanted:
            case.observe({name: full[name] for name in case.wanted})
        action = population.problem.action_names.index(case.action)
        case.reward(float(population.reward[tuple(values)][action]))
        spent += case.cost
    return spent / cases


TERMS = {
    "1 or 100": lambda rng: {"stake": rng.choice([1.0, 100.0])},
    "lognormal": lambda rng: {"stake": rng.lognormal(0.0, 1.5)},
    "prices": lambda rng: {"prices": {"o0": rng.choice([0.02, 0.3])}},
    "both": lambda rng: {
        "stake": rng.choice([1.0, 10.0]),
        "prices": {"o0": rng.choice([0.02, 0.3])},
    },
}


@pytest.mark.parametrize(
    ("model", "acquisition", "terms"),
    [
        ("joint", "sequential", "1 or 100"),
        ("joint", "sequential", "lognormal"),
        ("joint", "sequential", "both"),  # half of these have a stake of 1, and only own prices
        ("additive", "simultaneous", "1 or 100"),
        ("additive", "simultaneous", "prices"),
        ("additive", "simultaneous", "both"),
    ],
)
def test_held_if_cases_have_stakes_and_prices_of_their_own(model, acquisition, terms):
    """The shadow price was once that of cases with a stake of 1: 7 % more was spent."""
    population, spend = population_of_a_few_states(), 0.04
    options = {"model": model, "acquisition": acquisition, "budget": budget(spend)}
    learner = aw.Learner(population.problem, **options, rng=1)
    found = mean_spend(learner, population, TERMS[terms], CASES)
    assert found < 1.01 * spend
    if (model, terms) == ("additive", "prices"):  # more would not pay
        assert spending_of(learner).shadow_price == 0.0
    else:
        assert found > 0.99 * spend
    assert spending_of(learner).kinds.tally[:, 0].sum() == CASES


def test_a_budget_that_is_not_needed_changes_no_plan():
    population = breast_cancer(cost=5.0)
    learner = aw.Learner(population.problem, budget=budget(1_000.0), rng=1)
    free = aw.Learner(population.problem, rng=1)
    for one in (learner, free):
        aw.simulate(one, Population(population), steps=2_000, rng=2)
    assert learner.statistics == free.statistics
    assert learner.recommend().shadow_price == 0.0
    assert learner.recommend().tree() == free.recommend().tree()


@pytest.mark.parametrize("check", LEARNER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    ("model", "acquisition"), [("joint", "sequential"), ("additive", "simultaneous")]
)
def test_conformance_within_a_budget(model, acquisition, check):
    options = {"acquisition": acquisition, "model": model, "budget": budget(0.05)}
    check(lambda problem, *, rng: aw.Learner(problem, rng=rng, **options))


def test_what_was_spent_is_that_of_all_cases_whatever_became_of_them():
    problem = breast_cancer(cost=5.0).problem
    learner = aw.Learner(problem, budget=budget(8.0), rng=3)
    spent = 0.0
    for k in range(60):
        prices = {"age": 1.0} if k % 3 == 0 else None
        case = learner.open(prices=prices)
        while case.wanted:
            if k % 7 == 0 and case.path:
                break
            looks = {o.name: o for o in problem.observations if o.name in case.wanted}
            case.observe({name: o.values[k % len(o.values)] for name, o in looks.items()})
        spent += case.cost
        if case.wanted:
            case.cancel()
        elif k % 2:
            case.reward(0.5)
    tally = spending_of(learner).tally
    assert tally[1] == 60
    assert tally[0] / UNITS * 8.0 == pytest.approx(spent)


@pytest.mark.parametrize("model", ["joint", "additive"])
def test_what_people_look_at_after_the_advice_is_charged_too(model):
    """Once only what a case had bought before its advice was counted."""
    problem = aw.Problem(
        observations=[
            aw.Observation("device", values=["known", "new"], cost=1.0),
            aw.Observation("bureau", values=["good", "poor"], cost=0.5, fails="refunded"),
        ],
        actions=["approve", aw.Action("review", cost=4.0)],
        reward_value=10,
    )
    learner = aw.Learner(problem, budget=budget(0.5), model=model, explore=False, rng=0)
    spent = 0.0
    for k in range(200):
        case = learner.open(stake=1.0 + k % 3)
        while case.wanted:
            case.observe({name: "known" if name == "device" else "good" for name in case.wanted})
        late = {"device": "new", "bureau": None if k % 5 == 0 else "poor"}
        unseen = {name: value for name, value in late.items() if name not in case.state}
        if unseen:
            paid = {"device": 0.75} if k % 4 == 0 and "device" in unseen else None
            case.observe(unseen, paid=paid, unasked=True)
        spent += case.cost - 4.0 * (case.action == "review")
        case.reward(1.0)
    counted, cases = spending_of(learner).tally.tolist()
    assert cases == 200
    assert counted / UNITS * 0.5 == pytest.approx(spent, rel=1e-6)
    assert spending_of(learner).target < 0.5


def test_what_actions_cost_is_not_spent_on_observations():
    problem = aw.Problem(
        observations=[aw.Observation("device", values=["known", "new"], cost=0.5)],
        actions=["approve", aw.Action("review", cost=4.0)],
        rewards=(-100.0, 30.0),
    )
    population = aw.Model(problem, [0.9, 0.1], [[25.0, 28.0], [-50.0, 20.0]])
    learner = aw.Learner(problem, budget=budget(0.25), rng=1)
    run = aw.simulate(learner, Population(population), steps=3_000, rng=2)
    looked = run.cost - 4.0 * (run.action == 1)
    spent, cases = spending_of(learner).tally.tolist()
    assert spent / UNITS * 0.25 == pytest.approx(looked.sum())
    assert looked.mean() < 0.27
    one = aw.Learner(problem, budget=budget(0.25), rng=1)
    for _ in range(30):
        case = one.open()
        while case.wanted:
            case.observe({"device": "known"})
        case.reward(20.0)
    assert spending_of(one).tally[0] / UNITS * 0.25 <= 30 * 0.5
    assert cases == 3_000


def test_merged_learners_add_what_they_spent():
    problem = breast_cancer(cost=5.0).problem
    one, other = (aw.Learner(problem, budget=budget(8.0), rng=k) for k in range(2))
    for learner in (one, other):
        aw.simulate(learner, Population(breast_cancer(cost=5.0)), steps=100, rng=1)
    expected = spending_of(one).tally + spending_of(other).tally
    one.merge(other)
    assert (spending_of(one).tally == expected).all()
    free = aw.Learner(problem, rng=3)
    aw.simulate(free, Population(breast_cancer(cost=5.0)), steps=100, rng=1)
    one.merge(free.statistics)  # what was spent elsewhere is not charged here
    assert (spending_of(one).tally == expected).all()
    assert one.statistics.cases == 300
    with pytest.raises(OptionError, match="budget is"):
        one.merge(aw.Learner(problem, budget=budget(9.0)))


def test_a_saved_learner_goes_on_within_its_budget(tmp_path):
    patients = Population(breast_cancer(cost=5.0))
    learner = aw.Learner(patients.problem, budget=budget(3.0), rng=1)
    aw.simulate(learner, patients, steps=1_500, rng=2)
    learner.open()
    assert learner.policy.mixture is not None, "or mixtures are not tested"
    learner.save(tmp_path / "l.askwise")
    loaded = aw.load(tmp_path / "l.askwise")
    assert loaded.options == learner.options
    runs = [aw.simulate(one, patients, steps=800, rng=4) for one in (learner, loaded)]
    assert (runs[0].gain == runs[1].gain).all()
    assert loaded.to_bytes() == learner.to_bytes()


def test_a_file_with_a_mixture_that_cannot_be_is_refused(tmp_path):
    import io
    import json
    import zipfile

    patients = Population(breast_cancer(cost=5.0))
    learner = aw.Learner(patients.problem, budget=budget(3.0), rng=1)
    aw.simulate(learner, patients, steps=1_500, rng=2)
    content = zipfile.ZipFile(io.BytesIO(learner.to_bytes()))
    for share in (1.5, -0.1):
        altered = io.BytesIO()
        with zipfile.ZipFile(altered, "w") as archive:
            for name in content.namelist():
                data = content.read(name)
                if name == "learner.json":
                    header = json.loads(data)
                    header["policies"][0]["mixed"][0][0] = share
                    data = json.dumps(header)
                archive.writestr(name, data)
        with pytest.raises(FileError, match="mixed with what cannot be"):
            aw.learners.from_bytes(altered.getvalue())


def test_a_day_is_a_number_of_cases_and_files_say_it_too():
    problem = breast_cancer().problem
    day = aw.Budget(spend_per_day=400.0, cases_per_day=200)
    learner = aw.Learner(problem, budget=day)
    assert spending_of(learner).per_case == 2.0
    again = aw.Learner(problem, budget={"spend_per_day": 400.0, "cases_per_day": 200})
    assert again.options == learner.options
    for bad, message in (
        (2.0, "budget must be a Budget"),
        ({"spend": 2.0}, "expected some of spend_per_case"),
    ):
        with pytest.raises(OptionError, match=message):
            aw.Learner(problem, budget=bad)


def test_the_target_makes_good_what_was_spent_too_much_or_too_little():
    spending = Spending(budget(2.0), Lattice(breast_cancer().problem))
    assert spending.target == 2.0
    spending.count(np.full(100, 2.0))
    assert spending.target == 2.0
    spending.count(np.full(100, 2.5))  # 50 too much, within the next 20 cases: none of them may
    assert spending.target == 0.0
    spending.count(np.full(800, 1.95))  # 10 too much, within the next 50
    assert spending.target == pytest.approx(2.0 - 10 / 50, rel=1e-4)


def test_cases_with_prices_of_their_own_pay_those_and_no_shadow_price():
    patients = Population(breast_cancer(cost=5.0))
    learner = aw.Learner(patients.problem, budget=budget(4.0), rng=1)
    aw.simulate(learner, patients, steps=1_000, rng=2)
    assert spending_of(learner).shadow_price > 0.5
    case = learner.open(prices={"WHO score": 0.5})
    assert case.lattice.price(0, case.lattice.order[:1]) in (0.5, 5.0)
    assert {o.cost for o in case.lattice.observations} == {0.5, 5.0}
    assert rounds_of(learner).problem.observations[0].cost == 5.0
