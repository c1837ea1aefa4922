"""The best within an average spend, against linear programs over all mixtures of policies."""

import numpy as np
import pytest
from scipy.optimize import linprog

import askwise as aw
import brute_force
import reference
from askwise.errors import ModelError, OptionError
from askwise.policy.frontier import Frontier
from askwise.simulation.environments import breast_cancer
from random_problems import random_model, random_problem, with_priced_panels


def random_cases(number, seed, most=40):
    rng = np.random.default_rng(seed)
    for _ in range(number):
        model = random_model(rng, random_problem(rng, most=most, observations=4, buys=True))
        yield model, rng


def occupancy_program(model, budget, multiplier=None):
    """Max Σ y(ψ, a) (β r − spent) over flows y of cases through states, within a spend.

    Every policy that looks one by one, and every mixture of such policies, is such a flow.
    """
    problem = model.problem
    cases = list(reference.full_cases(model))
    came = {}
    for state in reference.readable_states(problem):
        alike = [c for c in cases if set(state) <= set(c[0].items())]
        if alike:
            came[state] = alike
    places, gains, spends = {}, [], []
    for state, alike in came.items():
        likely = sum(p for _, p, _ in alike)
        known = {name for name, _ in state}
        for a, action in enumerate(problem.actions):
            if not set(action.requires) <= known:
                continue
            earned = sum(p * r[a] for _, p, r in alike) / likely
            places[state, a] = len(gains)
            spent = reference.spent(problem, dict(state))
            gains.append(problem.reward_value * earned - action.cost - spent)
            spends.append(spent)
        for o in reference.to_look_at(problem, dict(state)):
            if not set(o.requires) <= known:
                continue
            places[state, o.name] = len(gains)
            gains.append(0.0)
            spends.append(0.0)
    given = {o.name for o in problem.observations if o.given}
    rows, right = [], []
    for state, alike in came.items():
        row = np.zeros(len(gains))
        for (at, _), k in places.items():
            if at == state:
                row[k] = 1.0
        likely = sum(p for _, p, _ in alike)
        for name, _ in state:
            parent = type(state)(pair for pair in state if pair[0] != name)
            if name not in given:
                before = sum(p for _, p, _ in came[parent])
                if (parent, name) in places:
                    row[places[parent, name]] -= likely / before
        rows.append(row)
        right.append(likely if {n for n, _ in state} == given else 0.0)
    limits = {} if budget is None else {"A_ub": [spends], "b_ub": [budget]}
    found = linprog(-np.array(gains), A_eq=np.array(rows), b_eq=right, **limits, method="highs")
    assert found.status == 0
    price = 0.0 if budget is None else -found.ineqlin.marginals[0]
    return -found.fun, price, float(np.array(spends) @ found.x)


def sets_program(model, budget):
    """The same over mixtures of sets that are bought at once, in every context."""
    problem = model.problem
    buyable = [o.name for o in problem.observations if not o.given]
    gains, spends, rows, right = [], [], [], []
    contexts = reference.begin_alike(model)
    for place, (known, cases) in enumerate(contexts):
        for names in reference.itertools.chain.from_iterable(
            reference.itertools.combinations(buyable, k) for k in range(problem.m + 1)
        ):
            seen = reference.defaultdict(list)
            for case in cases:
                seen[tuple(case[0][n] for n in names)].append(case)
            gain = spend = 0.0
            for shown, alike in seen.items():
                state = known | dict(zip(names, shown, strict=True))
                gain += reference.best_stop(problem, state, alike)
                spend += sum(p for _, p, _ in alike) * reference.spent(problem, state)
            gains.append(gain)
            spends.append(spend)
            rows.append(np.eye(len(contexts))[place])
    right = np.ones(len(contexts))
    found = linprog(
        -np.array(gains), A_eq=np.array(rows).T, b_eq=right, A_ub=[spends], b_ub=[budget]
    )
    assert found.status == 0
    return -found.fun


@pytest.mark.parametrize("seed", range(8))
def test_best_within_a_budget_is_that_of_the_linear_program(seed):
    bound = 0
    for model, rng in random_cases(6, seed):
        beta = model.problem.reward_value
        free = aw.oracle.frontier(model)[-1]
        budget = max(1e-6, float(rng.random()) * 1.3 * free.spend)
        best, price, _ = occupancy_program(model, budget)
        policy = aw.oracle.sequential(model, budget=aw.Budget(spend_per_case=budget))
        assert policy.value == pytest.approx(best, abs=1e-9 * beta)
        assert policy.evaluate(model) == pytest.approx(best, abs=1e-9 * beta)
        assert spend_of(policy, model) <= budget + 1e-9 * beta
        if 1e-6 < budget < free.spend:
            bound += 1
            assert policy.shadow_price == pytest.approx(price, rel=1e-6, abs=1e-9)
        at_once = aw.oracle.simultaneous(model, budget=aw.Budget(spend_per_case=budget))
        assert at_once.value == pytest.approx(sets_program(model, budget), abs=1e-9 * beta)
        assert at_once.evaluate(model) == pytest.approx(at_once.value, abs=1e-9 * beta)
    assert bound  # or nothing was tested


def test_with_costs_of_actions_requirements_and_discounts_together():
    rng, bound = np.random.default_rng(3), 0
    for _ in range(80):
        model = brute_force.random_model(rng, brute_force.random_problem(rng))
        if [o for o in model.problem.observations if not o.given] and rng.random() < 0.6:
            problem = with_priced_panels(rng, model.problem)
            model = aw.Model(problem, model.probability, model.reward)
        free = aw.oracle.frontier(model)[-1]
        budget = max(1e-6, float(rng.random()) * 1.2 * free.spend)
        least = aw.oracle.frontier(model)[0].spend
        if budget < least:  # every action may require a look that costs something
            continue
        best, _, _ = occupancy_program(model, budget)
        policy = aw.oracle.sequential(model, budget=aw.Budget(spend_per_case=budget))
        assert policy.value == pytest.approx(best, abs=1e-9)
        assert policy.evaluate(model) == pytest.approx(best, abs=1e-9)
        bound += 1e-6 < budget < free.spend
    assert bound > 10


@pytest.mark.parametrize("seed", range(4))
def test_frontier_is_concave_and_that_of_the_linear_program_everywhere(seed):
    for model, rng in random_cases(3, 100 + seed, most=16):
        beta, frontier = model.problem.reward_value, aw.oracle.frontier(model)
        assert all(np.diff([p.spend for p in frontier]) > 0)
        prices = frontier.shadow_prices
        assert all(np.diff(prices) < 1e-6)
        for point in frontier:
            assert point.policy.evaluate(model) == pytest.approx(point.gain, abs=1e-9 * beta)
            assert spend_of(point.policy, model) == pytest.approx(point.spend, abs=1e-9 * beta)
        for spend in [0.0, *(rng.random(4) * 1.2 * frontier[-1].spend).tolist()]:
            best, _, _ = occupancy_program(model, spend)
            assert frontier.gain_at(spend) == pytest.approx(best, abs=1e-9 * beta)


def spend_of(policy, model):
    """By walking every full case through each of the policies that are mixed."""
    problem, total = model.problem, 0.0
    given = {o.name for o in problem.observations if o.given}
    for share, part in policy.parts:
        for values, p, _ in reference.full_cases(model):
            known = {name: values[name] for name in given}
            while wanted := part.wanted(known):
                known |= {name: values[name] for name in wanted}
            total += share * p * reference.spent(problem, known)
    return total


def test_without_need_of_a_budget_it_is_the_best_policy():
    model, _ = next(random_cases(1, 5))
    free = aw.oracle.sequential(model)
    policy = aw.oracle.sequential(model, budget=aw.Budget(spend_per_case=1e6))
    assert policy.mixture is None
    assert policy.shadow_price == 0.0
    assert policy.value == pytest.approx(free.value)
    assert policy.tree().outline() == free.tree().outline()


def test_a_mixture_shows_both_trees_and_their_shares():
    model = aw.Model(
        aw.Problem(
            observations=[aw.Observation("mri", values=["neg", "pos"], cost=9)],
            actions=["wait", "treat"],
            reward_value=100,
        ),
        probability=[0.8, 0.2],
        reward=[[1.0, 0.5], [0.0, 1.0]],
    )
    policy = aw.oracle.sequential(model, budget=aw.Budget(spend_per_case=1.8))
    assert policy.observations == ("mri",)
    # a fifth of the cases looks: 80 + 0.2 (91 − 80), and one more to spend adds 11 / 9
    assert policy.value == pytest.approx(82.2)
    assert policy.shadow_price == pytest.approx(11 / 9)
    assert str(policy.tree()).splitlines()[1:5] == [
        "├─ chance 80.0% → wait           80%    0.0  80.0",
        "└─ chance 20.0% → buy mri (9)    20%    0.0  91.0  wait 80.0",
        "   ├─ neg → wait                 16%    9.0  91.0",
        "   └─ pos → treat               4.0%    9.0  91.0",
    ]
    assert "one more to spend would add 1.22" in str(policy.tree())


def test_rewards_in_money_and_costs_of_actions():
    """A desk worked by hand: approve earns 30 or loses 100, a review costs 4."""
    problem = aw.Problem(
        observations=[aw.Observation("device", values=["known", "new"], cost=0.5)],
        actions=["approve", aw.Action("review", cost=4.0)],
        rewards=(-100.0, 30.0),
    )
    model = aw.Model(problem, [0.9, 0.1], [[25.0, 28.0], [-50.0, 20.0]])
    # blind: approve 17.5, review 23.2; by the device: 0.9 · 25 + 0.1 · 16 − 0.5 = 23.6
    frontier = aw.oracle.frontier(model)
    assert [point.gain for point in frontier] == pytest.approx([23.2, 23.6])
    assert [point.policy.value for point in frontier] == pytest.approx([23.2, 23.6])
    policy = aw.oracle.sequential(model, budget=aw.Budget(spend_per_case=0.25))
    assert policy.value == pytest.approx(23.4)
    assert policy.evaluate(model) == pytest.approx(23.4)
    assert policy.shadow_price == pytest.approx(0.8)


@pytest.mark.parametrize("seed", range(5))
def test_a_policy_that_spends_just_the_budget_is_followed_alone(seed):
    # what it spends is a sum over states, and may be above the budget in its last digit
    rng = np.random.default_rng(seed)
    problem = aw.Problem(
        observations=[
            aw.Observation("kind", values=range(7), given=True),
            aw.Observation("cheap", values=["no", "yes"], cost=0.3),
            aw.Observation("dear", values=["no", "yes"], cost=2.0),
        ],
        actions=["wait", "treat"],
        reward_value=100.0,
    )
    share = np.multiply.outer(rng.dirichlet(np.ones(7)), [[0.4, 0.1], [0.1, 0.4]])
    wait = np.array([[0.96, 0.4], [0.4, 0.0]])  # by the cheap and the dear one
    reward = np.broadcast_to(np.stack([wait, 1 - wait], axis=-1), (7, 2, 2, 2))
    model = aw.Model(problem, share, reward)
    best = aw.oracle.sequential(model, budget=aw.Budget(spend_per_case=0.3))
    assert best.shadow_price > 0
    assert len(best.parts) == 1
    assert str(best.tree()).count("buy cheap") == 1


def test_budgets_that_cannot_be():
    model, _ = next(random_cases(1, 5))
    for bad in (
        {},
        {"spend_per_case": 1.0, "spend_per_day": 2.0},
        {"spend_per_day": 2.0},
        {"cases_per_day": 2.0, "spend_per_case": 1.0},
        {"spend_per_case": -1.0},
        {"spend_per_case": 0.0},
        {"spend_per_case": float("nan")},
        {"spend_per_case": "much"},
    ):
        with pytest.raises(OptionError, match=r"Budget|go together"):
            aw.Budget(**bad)
    with pytest.raises(OptionError, match="budget must be a Budget"):
        aw.oracle.sequential(model, budget=2.0)
    with pytest.raises(ModelError, match="known="):
        aw.oracle.simultaneous(model, known={}, budget=aw.Budget(spend_per_case=1.0))
    assert aw.Budget(spend_per_day=400.0, cases_per_day=200).per_case == 2.0


def test_neighbours_on_a_frontier_do_not_look_the_same():
    """Eight rows had a gain of 12.0."""
    gains = (11.9, 12.0012, 12.0034, 12.0041)
    points = [
        aw.oracle.frontier(breast_cancer(cost=5.0))[0]._replace(spend=k, gain=g)
        for k, g in enumerate(gains)
    ]
    rows = str(Frontier(tuple(points))).splitlines()[1:]
    assert [row.split()[1] for row in rows] == ["11.900", "12.001", "12.003", "12.004"]
    assert [row.split()[0] for row in rows] == ["0.00", "1.00", "2.00", "3.00"]
