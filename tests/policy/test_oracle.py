"""Oracles against every policy there is, on problems small enough to list them."""

import itertools

import numpy as np
import pytest

import reference
from askwise import Model, Observation, Problem, oracle
from askwise.errors import ModelError
from askwise.testing import random_model
from inside import path_policy

# (values of each observation, actions, m): few enough policies to list them all
SHAPES = [
    ([2], 3, 1),
    ([3], 2, 1),
    ([2, 2], 2, 2),
    ([2, 2], 3, 1),
    ([2, 3], 2, 2),
    ([2, 2, 2], 2, 2),
    ([1, 3], 2, 2),
    ([2, 2], 2, 0),
]


def random_tiny_model(seed):
    rng = np.random.default_rng(seed)
    values, actions, m = SHAPES[seed % len(SHAPES)]
    beta = float(rng.choice([1.0, 50.0]))
    model = random_model(
        rng,
        values,
        actions=actions,
        max_observations=m,
        reward_value=beta,
        highest_cost=beta * float(rng.choice([0.0, 0.02, 0.3])),
    )
    if seed % 3 == 0:  # some impossible states, some sure rewards
        probability = model.probability * (rng.random(model.probability.shape) < 0.6)
        if probability.sum() > 0:
            model = Model(model.problem, probability / probability.sum(), np.round(model.reward))
    return model


@pytest.mark.parametrize("seed", range(80))
def test_sequential_oracle_is_the_best_of_all_policies(seed):
    model = random_tiny_model(seed)
    problem = model.problem
    radices = list(model.probability.shape)
    everything = list(reference.all_policies(radices, len(problem.actions), problem.m))
    best = max(reference.gain_of(policy, model) for policy in everything)
    policy = oracle.sequential(model)
    assert policy.value == pytest.approx(best, abs=1e-9 * problem.reward_value)
    assert policy.evaluate(model) == pytest.approx(best, abs=1e-9 * problem.reward_value)
    assert policy.value >= oracle.simultaneous(model).value - 1e-9 * problem.reward_value


@pytest.mark.parametrize("seed", range(80))
def test_simultaneous_oracle_is_the_best_set(seed):
    model = random_tiny_model(seed)
    problem = model.problem
    best = -np.inf
    for k in range(problem.m + 1):
        for subset in itertools.combinations(range(len(problem.observations)), k):
            hidden = tuple(set(range(len(problem.observations))) - set(subset))
            earned = (model.probability[..., None] * model.reward).sum(axis=hidden)
            gain = problem.reward_value * earned.max(axis=-1).sum()
            gain -= sum(problem.observations[i].cost for i in subset)
            names = [problem.observations[i].name for i in subset]
            fixed = oracle.fixed(model, names)
            assert fixed.value == pytest.approx(gain, abs=1e-9 * problem.reward_value)
            assert fixed.evaluate(model) == pytest.approx(gain, abs=1e-9 * problem.reward_value)
            best = max(best, gain)
    policy = oracle.simultaneous(model)
    assert policy.value == pytest.approx(best, abs=1e-9 * problem.reward_value)
    assert policy.evaluate(model) == pytest.approx(best, abs=1e-9 * problem.reward_value)


@pytest.mark.parametrize("seed", range(40))
def test_any_policy_is_evaluated_exactly(seed):
    """A random policy, good or bad, earns what going through the full states says."""
    model = random_tiny_model(seed)
    problem, rng = model.problem, np.random.default_rng(seed)
    lattice = oracle.sequential(model).lattice
    look = np.full(lattice.size, -1, np.int16)
    for s in range(lattice.size):
        choices = [i for i in range(len(problem.observations)) if lattice.children(s, i)]
        look[s] = rng.choice([-1, *choices])
    actions = rng.integers(0, len(problem.actions), lattice.size).astype(np.int16)
    policy = path_policy(lattice, look, actions, np.zeros(lattice.size))

    def nested(s):
        i = int(look[s])
        if i < 0:
            return int(actions[s])
        return (i, tuple(nested(c) for c in lattice.children(s, i)))

    expected = reference.gain_of(nested(0), model)
    assert policy.evaluate(model) == pytest.approx(expected, abs=1e-9 * problem.reward_value)


def clinic(mri=9.0, reward_value=100.0):
    """Worked by hand: ill one in five; the mammogram is right 4 times in 5, the MRI always."""
    problem = Problem(
        observations=[
            Observation("mammogram", values=["low", "high"], cost=1.0),
            Observation("mri", values=["neg", "pos"], cost=mri),
        ],
        actions=["wait", "treat"],
        reward_value=reward_value,
    )
    # rows: mammogram low, high; columns: mri neg, pos
    return Model(problem, [[0.64, 0.04], [0.16, 0.16]], [[[1, 0], [0, 1]], [[1, 0], [0, 1]]])


def test_by_hand():
    model = clinic()
    # nothing: 80. mammogram: .64 + .16 + … = low → wait .64, high → either .16: 80 − 1.
    assert oracle.fixed(model, []).value == pytest.approx(80)
    assert oracle.fixed(model, ["mammogram"]).value == pytest.approx(79)
    assert oracle.fixed(model, ["mri"]).value == pytest.approx(91)
    assert oracle.fixed(model, ["mri", "mammogram"]).value == pytest.approx(90)
    assert oracle.simultaneous(model).observations == ("mri",)
    # first the mammogram; the MRI only if high (.32 of cases): 64 + 32 − 1 − .32 · 9 = 92.12
    policy = oracle.sequential(model)
    assert policy.value == pytest.approx(92.12)
    assert policy.tree().outline() == (
        "buy mammogram (1)\n"
        "├─ low → wait\n"
        "└─ high → buy mri (9)\n"
        "   ├─ neg → wait\n"
        "   └─ pos → treat"
    )
    assert policy.wanted({}) == ("mammogram",)
    assert policy.wanted({"mammogram": "low"}) == ()
    assert policy.action({"mammogram": "low"}) == "wait"


def test_too_dear_buys_nothing():
    policy = oracle.sequential(clinic(mri=60.0))
    assert policy.tree().outline() == "wait (buying nothing)"
    assert policy.value == pytest.approx(80)


def test_a_free_look_that_changes_nothing_is_not_bought():
    rng = np.random.default_rng(0)
    problem = Problem(
        observations=[Observation(f"o{i}", values=[0, 1, 2], cost=0.0) for i in range(3)],
        actions=["a", "b"],
    )
    model = Model(problem, rng.dirichlet(np.ones(27)), np.tile([0.3, 0.7], (27, 1)))
    assert oracle.sequential(model).tree().outline() == "b (buying nothing)"
    assert oracle.simultaneous(model).observations == ()


def test_the_tree_of_a_set():
    rng = np.random.default_rng(0)
    problem = Problem(
        observations=[
            Observation("age", values=["<50", "50+"], cost=1.0),
            Observation("stage", values=["I", "II", "III"], cost=2.0),
        ],
        actions=["AC", "ACT", "CAF"],
        reward_value=100,
    )
    best = [[0, 0, 1], [2, 2, 2]]
    reward = np.eye(3)[best]
    policy = oracle.simultaneous(Model(problem, rng.dirichlet(np.full(6, 5.0)), reward))
    assert policy.tree().outline() == (
        "buy age + stage (3)\n"
        "├─ age <50\n"
        "│  ├─ stage I or II → AC\n"
        "│  └─ stage III → ACT\n"
        "└─ age 50+ → CAF"
    )


@pytest.mark.parametrize(
    ("probability", "reward", "message"),
    [
        ([0.5, 0.6], None, "probability must sum to 1, got 1.1"),
        ([1.5, -0.5], None, "probability must not be negative, got -0.5"),
        ([0.5, np.nan], None, "probability must be finite, got nan"),
        ([1.0], None, r"probability must have the shape \(2,\).*got \(1,\)"),
        (["x", "y"], None, "probability must be an array of numbers"),
        (None, [[0, 1], [0, 2]], "reward must lie between 0 and 1, got 2"),
        (None, [[0, 1], [-1, 0]], "reward must lie between 0 and 1, got -1"),
        (None, [0, 1], r"reward must have the shape \(2, 2\)"),
    ],
)
def test_what_a_model_refuses(probability, reward, message):
    problem = Problem(observations=[Observation("o", values=[0, 1], cost=1)], actions=["a", "b"])
    with pytest.raises(ModelError, match=message):
        Model(
            problem,
            [0.5, 0.5] if probability is None else probability,
            np.zeros((2, 2)) if reward is None else reward,
        )


def test_two_problems_do_not_mix():
    policy = oracle.sequential(clinic())
    with pytest.raises(ModelError, match="two different problems"):
        policy.evaluate(clinic(mri=8.0))
    model = random_model(np.random.default_rng(0), [2, 2], max_observations=1)
    with pytest.raises(ModelError, match="2 observations, expected at most 1"):
        oracle.fixed(model, ["o0", "o1"])


def test_sampling_follows_the_probabilities():
    model = random_model(np.random.default_rng(0), [2, 3])
    drawn = model.sample(np.random.default_rng(1), 100_000)
    counts = np.zeros((2, 3))
    np.add.at(counts, tuple(drawn.T), 1)
    np.testing.assert_allclose(counts / 100_000, model.probability, atol=0.01)


def test_a_fixed_set_without_what_it_requires_is_refused():
    problem = Problem(
        observations=[
            Observation("answer", values=["plain", "hedges"], cost=1.0),
            Observation("judge", values=["good", "bad"], cost=1.0, requires=["answer"]),
        ],
        actions=["send", "ask"],
        reward_value=10.0,
    )
    model = Model(problem, np.full((2, 2), 0.25), np.full((2, 2, 2), 0.5))
    with pytest.raises(ModelError, match="'judge' requires answer: buy that too"):
        oracle.fixed(model, ["judge"])
    assert oracle.fixed(model, ["answer", "judge"]).value == pytest.approx(3.0)
