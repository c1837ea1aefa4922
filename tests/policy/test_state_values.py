"""F^π(ψ) and Q*(ψ, i) of any state, against walks through every full state there is."""

import itertools

import numpy as np
import pytest

from askwise import Model, Observation, Panel, Problem, oracle
from askwise.errors import CaseError, ModelError
from askwise.states import Lattice
from askwise.testing import random_model
from inside import path_policy, set_policy


def real_model(seed):
    """Something is given, two share a panel, one may fail and is refunded then."""
    problem = Problem(
        observations=[
            Observation("lab", values=["no", "yes"], cost=0.04, fails="charged"),
            Observation("age", values=["young", "old"], given=True),
            Observation("scan", values=["no", "yes"], cost=0.03, fails="refunded"),
            Observation("visit", values=[0, 1], cost=0.01),
        ],
        actions=["wait", "treat"],
        max_observations=2,
        panels=[Panel(observations=["lab", "scan"], fee=0.02)],
    )
    rng = np.random.default_rng(seed)
    shape = tuple(len(o.outcomes) for o in problem.observations)
    return Model(problem, rng.dirichlet(np.ones(np.prod(shape))), rng.random((np.prod(shape), 2)))


def models():
    for seed in range(4):
        yield real_model(seed)
        yield random_model(
            np.random.default_rng(seed), [2, 3, 2], max_observations=2, reward_value=10.0
        )


def random_policy(lattice, rng):
    actions = rng.integers(len(lattice.problem.actions), size=lattice.size).astype(np.int16)
    if rng.random() < 0.3:
        nothing = np.zeros(lattice.context_subsets)
        return set_policy(lattice, rng.integers(lattice.subsets), actions, nothing)
    look = np.full(lattice.size, -1, np.int16)
    for state in range(lattice.size):
        unknown = sorted(set(range(lattice.buyable)) - set(lattice.domain(state)))
        if len(lattice.domain(state)) < lattice.m and rng.random() < 0.7:
            look[state] = rng.choice(unknown)
    return path_policy(lattice, look, actions, np.zeros(lattice.size))


def walked(policy, model, start):
    """The mean gain of walks from a state, over every full state that agrees with it."""
    problem = model.problem
    total = gain = 0.0
    for full in itertools.product(*(range(len(o.outcomes)) for o in problem.observations)):
        values = {o.name: o.outcomes[x] for o, x in zip(problem.observations, full, strict=True)}
        if any(values[name] != x for name, x in start.items()):
            continue
        state = dict(start)
        while wanted := policy.wanted(state):
            state |= {name: values[name] for name in wanted}
        action = problem.action_names.index(policy.action(state))
        p = model.probability[full]
        paid = price_of(problem, state) - price_of(problem, start)
        total += p
        gain += p * (problem.reward_value * model.reward[full][action] - paid)
    return gain / total


def price_of(problem, state):
    charged = [
        o for o in problem.observations
        if o.name in state and not o.given and not (o.fails == "refunded" and state[o.name] is None)
    ]  # fmt: skip
    names = {o.name for o in charged}
    fees = sum(p.fee for p in problem.panels if names & set(p.observations))
    return sum(o.cost for o in charged) + fees


def states_of(lattice):
    return [lattice.state(index) for index in range(lattice.size)]


@pytest.mark.parametrize("model", list(models()))
def test_a_policy_is_valued_from_any_state(model):
    lattice, rng = Lattice(model.problem), np.random.default_rng(1)
    for policy in (oracle.sequential(model), *(random_policy(lattice, rng) for _ in range(4))):
        for state in states_of(lattice):
            assert policy.evaluate(model, state) == pytest.approx(walked(policy, model, state))


@pytest.mark.parametrize("model", list(models()))
def test_a_look_is_worth_what_the_best_policy_after_it_gains(model):
    """Q*(ψ, i): forced to look at i in ψ, the oracle goes on from there."""
    lattice, best = Lattice(model.problem), oracle.sequential(model)
    for index, state in enumerate(states_of(lattice)):
        worth = oracle.look_values(model, state)
        assert max(worth.values()) == pytest.approx(best.evaluate(model, state))
        assert best.values[index] == pytest.approx(max(worth.values()))
        wanted = best.wanted(state)
        assert worth[wanted[0] if wanted else None] == pytest.approx(max(worth.values()))
        for name, value in worth.items():
            look, actions = best.table.look.copy(), best.actions.copy()
            look[index] = -1 if name is None else lattice.to_buy(name)
            forced = path_policy(lattice, look, actions, best.values.copy())
            assert value == pytest.approx(walked(forced, model, state))
        unknown = {o.name for o in model.problem.observations if not o.given} - set(state)
        bought = len(lattice.domain(index))
        assert set(worth) == ({None} | unknown if bought < lattice.m else {None})


def test_no_policy_beats_the_optimal_value_in_any_state():
    model = real_model(9)
    lattice, rng = Lattice(model.problem), np.random.default_rng(2)
    for policy in (random_policy(lattice, rng) for _ in range(20)):
        for state in states_of(lattice):
            best = max(oracle.look_values(model, state).values())
            assert policy.evaluate(model, state) <= best + 1e-12


def test_what_cannot_be_is_refused():
    problem = Problem(
        observations=[Observation("x", values=["a", "b"], cost=0.1)], actions=["go", "stay"]
    )
    model = Model(problem, [1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]])
    for ask in (oracle.look_values, oracle.sequential(model).evaluate):
        with pytest.raises(ModelError, match=r"\{'x': 'b'\} never comes in this model"):
            ask(model, {"x": "b"})
        with pytest.raises(CaseError, match="nobody"):
            ask(model, {"nobody": "b"})
    assert oracle.look_values(model) == {None: 1.0, "x": 0.9}
