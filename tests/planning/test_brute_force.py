"""Planners and oracles against every policy there is, and against a linear program."""

import itertools

import msgspec
import numpy as np
import pytest
from scipy.optimize import linprog

import askwise as aw
import brute_force as every
from askwise.estimation.evidence import Beliefs
from askwise.planning import plan_sequential
from askwise.policy.acquisition import acquisition_of
from askwise.policy.expected_gain import expected_gain
from askwise.states import Lattice

FEATURES = ("costs", "requires", "panels", "failures", "given", "stakes")
STAKES = (0.1, 0.5, 3.0, 20.0)
ALONE = [{f: f == one for f in FEATURES} for one in FEATURES]
TOGETHER = dict.fromkeys(FEATURES, True)


def staked_models(features, number, seed):
    """Models with the stake of their cases, which is 1 unless stakes are a feature."""
    rng, stakes = np.random.default_rng(seed), np.random.default_rng(seed)
    others = {name: value for name, value in features.items() if name != "stakes"}
    for _ in range(number):
        problem = every.random_tiny_problem(rng, **others)
        stake = float(stakes.choice(STAKES)) if features["stakes"] else 1.0
        yield every.random_model(rng, problem), stake


def models(features, number, seed):
    return (model for model, _ in staked_models(features, number, seed))


def worth_more(model, stake):
    """The same population, with rewards that are worth so many times as much."""
    worth = model.problem.reward_value * stake
    problem = msgspec.structs.replace(model.problem, reward_value=worth)
    return aw.Model(problem, model.probability, model.reward)


@pytest.mark.parametrize(
    ("features", "number"),
    [*((one, 60) for one in ALONE), (TOGETHER, 300)],
    ids=[*FEATURES, "together"],
)
def test_no_policy_gains_more_than_the_oracles(features, number):
    for usual, stake in staked_models(features, number, seed=19):
        model = worth_more(usual, stake)
        one_by_one, at_once = aw.oracle.sequential(model), aw.oracle.simultaneous(model)
        best = every.best_of_all(model, every.all_trees, every.follow_tree)
        assert one_by_one.value == pytest.approx(best, abs=1e-9)
        assert one_by_one.evaluate(model) == pytest.approx(best, abs=1e-9)
        assert one_by_one.tree().root.reason.gain == pytest.approx(best, abs=1e-9)
        best = every.best_of_all(model, every.all_set_policies, every.follow_set)
        assert at_once.value == pytest.approx(best, abs=1e-9)
        assert at_once.evaluate(model) == pytest.approx(best, abs=1e-9)
        for policy in (one_by_one, at_once):
            gain = expected_gain(policy, *model.marginals(policy.lattice))
            assert gain == pytest.approx(policy.value, abs=1e-9)
            planned = policy_at_stake(usual, policy.acquisition, stake)
            gain = expected_gain(planned, *usual.marginals(Lattice(usual.problem)))
            assert gain == pytest.approx(policy.value, abs=1e-9)


def policy_at_stake(model, acquisition, stake):
    """The plan of a case with this stake, as learners plan it for one case."""
    lattice = Lattice(model.problem).at_stake(stake)
    truth = Beliefs(lattice, *model.marginals(Lattice(model.problem)))
    return acquisition_of(acquisition).best(lattice, truth.estimates(acquisition))


def test_no_policy_gains_more_with_something_on_file():
    """What is on file may lack what it requires itself; it counts towards m."""
    checked = 0
    for model in models(TOGETHER, 150, seed=20):
        problem, rng = model.problem, np.random.default_rng(checked)
        given = {o.name: o.outcomes[0] for o in problem.observations if o.given}
        bought = [o for o in problem.observations if not o.given]
        if not problem.m or not bought:
            continue
        filed = bought[rng.integers(len(bought))]
        known = given | {filed.name: filed.outcomes[0]}
        cases = [p for full, p, _ in every.full_states(model) if known.items() <= full.items()]
        if not cases:
            continue
        at_once = aw.oracle.simultaneous(model, known=known)
        best = every.best_gain(model, every.all_set_policies, every.follow_set, known) / sum(cases)
        start = Lattice(problem).index(known)
        assert at_once.table.value_from(Lattice(problem).context(start)) == pytest.approx(best)
        priced = Lattice(problem).priced({filed.name: 0.0}, [Lattice(problem).position(filed.name)])
        truth = Beliefs(priced, *model.marginals(Lattice(problem)))
        found = plan_sequential(priced, truth.estimates("sequential")).values[start]
        best = every.best_gain(model, every.all_trees, every.follow_tree, known) / sum(cases)
        assert found == pytest.approx(best, abs=1e-9)
        checked += 1
    assert checked > 60


def linear_program(model):
    """The most that occupation measures can gain: x(ψ, i) and x(ψ, a) with flow in = flow out."""
    problem = model.problem
    given = [o.name for o in problem.observations if o.given]
    outcomes = {o.name: o.outcomes for o in problem.observations}
    rest = [o.name for o in problem.observations if not o.given]
    states = [
        dict(zip((*given, *chosen), shown, strict=True))
        for size in range(problem.m + 1)
        for chosen in itertools.combinations(rest, size)
        for shown in itertools.product(*(outcomes[n] for n in (*given, *chosen)))
    ]
    place = {frozenset(s.items()): k for k, s in enumerate(states)}
    cases = list(every.full_states(model))
    flows, gains, starts = [], [], np.zeros(len(states))
    for k, state in enumerate(states):
        here = [c for c in cases if state.items() <= c[0].items()]
        p = sum(c[1] for c in here)
        if not set(state) - set(given):
            starts[k] = p
        if p == 0:
            continue
        bought = [n for n in state if n not in given]
        for name in every.allowed_actions(problem, state):
            flow = np.zeros(len(states))
            flow[k] = 1.0
            (action,) = (a for a in problem.actions if a.name == name)
            earned = sum(c[1] * c[2][name] for c in here) / p
            spent = action.cost + every.spent(problem, state, bought)
            flows.append(flow)
            gains.append(problem.reward_value * earned - spent)
        for look in every.allowed_looks(problem, state):
            flow = np.zeros(len(states))
            flow[k] = 1.0
            for x in look.outcomes:
                part = sum(c[1] for c in here if c[0][look.name] == x) / p
                flow[place[frozenset({**state, look.name: x}.items())]] -= part
            flows.append(flow)
            gains.append(0.0)
    done = linprog(-np.array(gains), A_eq=np.array(flows).T, b_eq=starts, method="highs")
    assert done.status == 0
    return -done.fun


def test_a_linear_program_gains_as_much():
    for usual, stake in staked_models(TOGETHER, 100, seed=22):
        model = worth_more(usual, stake)
        assert aw.oracle.sequential(model).value == pytest.approx(linear_program(model), abs=1e-9)
