"""What each comparator is known for."""

import itertools
import math

import numpy as np
import pytest

import askwise as aw
from askwise._kernels.radii import Radii
from askwise.errors import TooLargeError
from askwise.estimation.estimates import Estimates
from askwise.learners import LEARNERS
from askwise.learners.baselines.adaptive_greedy import CHOOSES_BY, greedy_looks
from askwise.planning import look_values, plan_sequential
from askwise.simulation.environments import Population, breast_cancer
from inside import strategy_of

PATIENTS = Population(breast_cancer(5.0))


def run_of(name, *, steps, seed=1, environment=PATIENTS, **options):
    learner = LEARNERS[name](environment.problem, rng=seed, **options)
    return learner, aw.simulate(learner, environment, steps=steps, rng=seed)


@pytest.mark.parametrize("name", ["psrl", "adaptive-greedy", "seq-oos", "sim-oos"])
def test_whoever_chooses_what_to_buy_beats_no_information(name):
    _, run = run_of(name, steps=50_000)
    _, blind = run_of("no-information", steps=50_000)
    assert not blind.cost.any()
    assert run.gain.mean() > blind.gain.mean() + 25


def test_contextual_ucb_buys_everything_always():
    _, run = run_of("contextual-ucb", steps=50_000)
    assert PATIENTS.problem.m == 3
    assert (run.cost == 20.0).all()
    assert set(run.bought().values()) == {1.0}


def test_random_choice_buys_every_subset_equally_often():
    _, run = run_of("random-choice", steps=15_000)
    counts = np.bincount(run.observed, minlength=run.lattice.subsets)
    assert run.lattice.subsets == len(counts) == 15
    assert counts == pytest.approx(np.full(15, 1000), abs=150)  # five standard deviations
    assert np.bincount(run.action, minlength=4) == pytest.approx(np.full(4, 3750), abs=265)


def test_epoch_greedy_explores_one_case_then_exploits_more_and_more():
    _, run = run_of("epoch-greedy", steps=10_000)
    lengths = np.bincount(run.round)[1:-1].tolist()  # the last round is cut off
    values = [len(o.values) for o in PATIENTS.problem.observations]
    sets = [c for k in range(4) for c in itertools.combinations(values, k)]
    complexity = 4 * math.log(sum(4 ** math.prod(chosen) for chosen in sets))  # A ln |Π|
    expected = []
    for epoch in range(1, len(lengths)):
        exploits = math.floor(math.sqrt(epoch / complexity))
        expected += [1, exploits] if exploits else [1]
    assert lengths == expected[: len(lengths)]
    assert max(lengths) > 2


def test_policy_ucb_refuses_what_it_cannot_try():
    values = [len(o.values) for o in PATIENTS.problem.observations]
    sets = [c for k in range(4) for c in itertools.combinations(values, k)]
    number = sum(4 ** math.prod(chosen) for chosen in sets)
    assert 10**36 <= number < 10**37
    with pytest.raises(TooLargeError, match=r"about 10\^36 policies, more than the 10,000"):
        aw.baselines.PolicyUCB(PATIENTS.problem)
    few = aw.Problem(
        observations=[aw.Observation("o", values=list(range(10)), cost=0.0)],
        actions=["a", "b", "c"],
    )
    with pytest.raises(TooLargeError, match=f"{3 + 3**10:,} policies"):
        aw.baselines.PolicyUCB(few)


def test_policy_ucb_finds_the_best_of_a_few_policies():
    problem = aw.Problem(
        observations=[aw.Observation("sign", values=["red", "green"], cost=0.1)],
        actions=["stay", "go"],
    )
    model = aw.Model(problem, [0.5, 0.5], [[0.9, 0.2], [0.1, 0.8]])
    best = aw.oracle.simultaneous(model)
    _, run = run_of("policy-ucb", steps=5000, environment=Population(model))
    follows = (run.observed == best.table.sets[0]) & (run.action == best.actions[run.state])
    assert follows[-1000:].mean() > 0.9
    assert follows[:1000].mean() < follows[-1000:].mean()


def test_ucrl2_learns_and_earns_less_than_sim_oos():
    """It does not know that one distribution over full states is behind all sets."""
    _, run = run_of("ucrl2", steps=50_000, exploration=0.005)
    _, sim = run_of("sim-oos", steps=50_000)
    assert run.gain.mean() < sim.gain.mean()
    early, late = run.gain[:5000].mean(), run.gain[-5000:].mean()
    assert late > early + 25
    assert late > aw.oracle.fixed(PATIENTS.model, []).value + 25


@pytest.mark.parametrize("names", [None, ["WHO score", "estrogen receptor"]])
def test_lin_ucb_equals_ridge_regression_on_the_cases(names):
    learner, run = run_of("lin-ucb", steps=5000, observations=names, exploration=0.5)
    lattice, actions = learner.statistics.lattice, len(PATIENTS.problem.actions)

    def features(state):
        parts = [np.eye(lattice.layout.radices[i])[x] for i, x in lattice.digits(state)]
        return np.concatenate([[1.0], *parts])

    assert (run.observed == strategy_of(learner).subset).all()
    cases = np.array([features(state) for state in run.state.tolist()])
    states = list(lattice.states(strategy_of(learner).subset))
    index = np.empty((len(states), actions))
    for action in range(actions):
        x, reward = cases[run.action == action], run.reward[run.action == action]
        gram = np.eye(x.shape[1]) + x.T @ x
        theta = np.linalg.solve(gram, x.T @ reward)
        for row, state in enumerate(states):
            look = features(state)
            width = math.sqrt(look @ np.linalg.solve(gram, look))
            index[row, action] = look @ theta + 0.5 * width
    chosen = learner.replan().actions[states]
    assert chosen.tolist() == index.argmax(axis=1).tolist()
    assert len(set(chosen.tolist())) > 1


def parity():
    """Two looks that tell all together and nothing apart, and one that tells nothing."""
    problem = aw.Problem(
        observations=[aw.Observation(n, values=[0, 1], cost=0.05) for n in ("left", "right", "x")],
        actions=["even", "odd"],
    )
    reward = np.zeros((2, 2, 2, 2))
    for left, right, x in np.ndindex(2, 2, 2):
        reward[left, right, x, (left + right) % 2] = 1.0
    return aw.Model(problem, np.full((2, 2, 2), 1 / 8), reward)


def test_seq_oos_buys_both_halves_of_a_parity():
    model = parity()
    learner, run = run_of("seq-oos", steps=20_000, environment=Population(model))
    late = run.bought(slice(-2000, None))
    assert min(late["left"], late["right"]) > 0.95
    assert late["x"] < 0.05
    assert learner.recommend().evaluate(model) == pytest.approx(0.9)


def test_looking_one_step_ahead_buys_no_half_of_a_parity():
    """By the truth, as adaptive greedy chooses; looking further ahead buys it."""
    model = parity()
    lattice = aw.states.Lattice(model.problem)
    probability, reward = model.marginals(lattice)
    every_slot = np.repeat(probability[:, None], lattice.m, axis=1)
    best = reward.max(axis=1)
    truth = Estimates(best, reward.argmax(axis=1).astype(np.int16), every_slot, Radii())
    net = look_values(lattice, truth, best)
    prices = np.broadcast_to(lattice.costs, net.shape)
    for chooses_by in CHOOSES_BY:
        assert greedy_looks(net, best, prices, chooses_by)[0] == -1
    assert plan_sequential(lattice, truth).look[0] == 0
