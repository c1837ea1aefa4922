"""Plans that cost what changed are the full plans, to the bit, at every round."""

import numpy as np
import pytest

import askwise as aw
from askwise.learners.optimistic import OptimisticInFull
from askwise.simulation.environments import Population, random_model
from askwise.testing import see
from inside import full_plan, now_of, rounds_of, strategy_of

BETA = 100.0

SHAPES = [
    [2, 3, 4],
    [3, 3, 2, 2],
    [2, 2, 2, 2, 2],
    [4, 2, 3, 5],
    [10, 2, 3],
    [2, 12],
    [1, 5, 1],
]


def shaped(seed, shape):
    rng = np.random.default_rng(seed)
    return rng, random_model(
        rng,
        shape,
        actions=2 + seed % 3,
        max_observations=min(3, len(shape)),
        reward_value=BETA,
        highest_cost=float(rng.choice([0.0, 4.0, 20.0])),
    )


def assert_same(policy, full):
    """The same values and choices wherever the policy can lead, and so to the same end."""
    lattice = full.lattice
    if policy.acquisition == "simultaneous":
        assert policy.table.sets[0] == full.table.sets[0]
        assert policy.value == full.value
        for state in lattice.states(int(policy.table.sets[0])):
            assert policy.act(state) == full.act(state)
        return
    waiting = [0]
    while waiting:
        state = waiting.pop()
        assert policy.choice(state) == full.choice(state)
        assert worth(policy, state) == worth(full, state)
        for i in policy.looks(state):
            waiting.extend(lattice.children(state, i))


def worth(policy, state):
    """F̂(ψ); β if it was never visited."""
    is_known = policy.table.row_of is None or policy.table.row(state) > 0
    return policy.values[policy.table.row(state)] if is_known else BETA


KINDS = [aw.SimOOS, aw.SeqOOS]
CLOCKS = ["doubling", "exact"]
STORAGES = ["dense", "sparse"]
CONFIDENCES = {
    "practical": {"confidence": "practical"},
    "theorem": {"confidence": "theorem"},
    "tight": {"confidence": "tight"},
    "practical, cap of 1": {"confidence": "practical", "cap": "printed"},
}


# Radii change the numbers of a plan, not how it is kept: a few shapes do for most of them.
PLANNED = [
    *(("practical", shape) for shape in SHAPES),
    *((name, shape) for name in [*CONFIDENCES][1:] for shape in ([2, 3, 4], [10, 2, 3], [1, 5, 1])),
]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize(("confidence", "shape"), PLANNED, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_every_plan_equals_the_full_plan_with_late_rewards(kind, confidence, clock, storage, shape):
    rng, model = shaped(SHAPES.index(shape), shape)
    radii = CONFIDENCES[confidence]
    learner = kind(model.problem, **radii, clock=clock, storage=storage)
    waiting, compared = [], 0
    for full_state in model.sample(rng, 500).tolist():
        if rounds_of(learner).is_over and now_of(learner).round:
            expected = full_plan(learner)
            assert_same(learner.replan(), expected)
            compared += 1
        case = see(learner.open(), model.problem, full_state)
        mean = model.reward[tuple(full_state)][case.action_index]
        waiting.append((case, float(rng.random() < mean)))
        while waiting and (rng.random() < 0.6 or len(waiting) > 30):
            late, reward = waiting.pop(int(rng.integers(len(waiting))))
            late.reward(reward)
    assert compared >= (60 if radii["confidence"] == "practical" else 20)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_plan_equals_the_full_plan_with_graded_rewards(kind, clock, storage):
    rng, model = shaped(1, SHAPES[1])
    learner = kind(model.problem, clock=clock, storage=storage)
    compared = 0
    for full_state in model.sample(rng, 400).tolist():
        if rounds_of(learner).is_over and now_of(learner).round:
            assert_same(learner.replan(), full_plan(learner))
            compared += 1
        case = see(learner.open(), model.problem, full_state)
        mean = model.reward[tuple(full_state)][case.action_index]
        case.reward(float(mean * rng.choice([0.0, 0.5, 0.9, 1.0])))
    assert compared >= 20
    assert learner.statistics.graded_sums.any()


class SimInFull(aw.SimOOS):
    """Sim-OOS that plans every round in full."""

    _kind = OptimisticInFull


class SeqInFull(aw.SeqOOS):
    """Seq-OOS that plans every round in full."""

    _kind = OptimisticInFull


IN_FULL = {aw.SimOOS: SimInFull, aw.SeqOOS: SeqInFull}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_whole_runs_equal_runs_with_full_plans(kind, clock, storage, shape):
    _, model = shaped(SHAPES.index(shape), shape)
    environment = Population(model)
    one = kind(model.problem, clock=clock, storage=storage)
    other = IN_FULL[kind](model.problem, clock=clock)
    rounds = 0
    for steps, seed in ((3000, 1), (1, 2), (20_000, 3)):
        left = aw.simulate(one, environment, steps=steps, rng=seed)
        right = aw.simulate(other, environment, steps=steps, rng=seed)
        assert np.array_equal(left.state, right.state)
        assert np.array_equal(left.action, right.action)
        assert np.array_equal(left.round, right.round)
        assert one.statistics == other.statistics
        assert_same(one.policy, other.policy)
        rounds = now_of(one).round
    assert rounds >= 100


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_compiled_and_interpreted_runs_are_the_same(kind, clock, storage, request):
    _, model = shaped(0, [2, 3, 4])

    def run():
        learner = kind(model.problem, clock=clock, storage=storage)
        return learner, aw.simulate(learner, Population(model), steps=250, rng=4)

    compiled, left = run()
    request.getfixturevalue("plain_kernels")
    plain, right = run()
    assert np.array_equal(left.state, right.state)
    assert np.array_equal(left.action, right.action)
    assert compiled.statistics == plain.statistics
    assert_same(compiled.policy, plain.policy)
    assert now_of(compiled).round == now_of(plain).round >= 40


@pytest.mark.parametrize("kind", KINDS)
def test_the_exact_clock_takes_t_as_it_is(kind):
    _, model = shaped(0, [2, 3, 4])
    exact, doubling = kind(model.problem, clock="exact"), kind(model.problem)
    lattice, way = exact.statistics.lattice, strategy_of(exact).acquisition.name
    for t in (1, 2, 3, 5, 1000, 1024, 1025):
        held = 1 << (t - 1).bit_length()
        now, then = (strategy_of(x).confidence.radii(lattice, way, t) for x in (exact, doubling))
        assert then == strategy_of(exact).confidence.radii(lattice, way, held)
        assert then.reward >= now.reward
        assert held >= t
        assert held < 2 * t


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_cases_that_are_looking_keep_their_policy_through_a_compiled_run(kind, clock, storage):
    rng, model = shaped(3, [4, 2, 3, 5])
    learner = kind(model.problem, clock=clock, storage=storage)
    aw.simulate(learner, Population(model), steps=200, rng=0)
    cases = [learner.open() for _ in range(3)]
    policy = learner.policy
    aw.simulate(learner, Population(model), steps=5000, rng=1)
    assert learner.policy is not policy
    for case, full in zip(cases, model.sample(rng, 3).tolist(), strict=True):
        while case.wanted:
            assert case.wanted == policy.wanted(case.state)
            case.observe({name: full[int(name[1:])] for name in case.wanted})
        assert case.action == policy.action(case.state)
        case.reward(1.0)
    expected = full_plan(learner)
    assert_same(learner.replan(), expected)
