"""Counters of shards that are merged count as if all had been counted at once."""

import copy
import functools
import operator
import pickle

import numpy as np
import pytest

import askwise as aw
from askwise.counting.row_counters import FIRST_ROWS
from askwise.simulation.environments import Population
from askwise.testing import see
from inside import bought, full_plan, now_of, rounds_of
from planning.test_incremental import BETA, IN_FULL, assert_same
from shards import (
    CLOCKS,
    KINDS,
    STORAGES,
    assert_same_plans,
    contents,
    count,
    finished_cases,
    model_of,
    shards_of,
)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_any_split_and_any_order_count_alike(kind, storage):
    model, sparse = model_of(2), storage == "sparse"
    logs, statistics = zip(
        *(finished_cases(kind, model, 250, seed) for seed in range(4)), strict=True
    )
    everything = [case for log in logs for case in log]
    recorded = functools.partial(count, model.problem, at_once=kind is aw.SimOOS, sparse=sparse)
    whole = recorded(everything)
    assert whole.is_sparse == sparse
    # what the learners counted themselves is what their logs say
    assert functools.reduce(operator.add, statistics) == whole
    rng = np.random.default_rng(0)
    for pieces in (1, 2, 3, 17):
        shuffled = [everything[k] for k in rng.permutation(len(everything))]
        parts = [recorded(shuffled[k::pieces]) for k in range(pieces)]
        total = functools.reduce(operator.add, parts)
        assert total == whole
        assert contents(total) == contents(whole)
    assert recorded(everything[1:]) != whole
    assert contents(recorded(everything[1:])) != contents(whole)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_who_merged_goes_on_like_who_counted(kind, clock, storage):
    model = model_of(3)
    shards = shards_of(kind, model, number=3)
    merged, counted = (kind(model.problem, clock=clock, storage=storage) for _ in range(2))
    for cases in shards:
        merged.merge(count(model.problem, cases, at_once=kind is aw.SimOOS, sparse=True))
        for observed, action, reward in cases:
            counted.statistics.record(
                observed, action, reward, acquisition=bought(kind is aw.SimOOS)
            )
    assert merged.statistics.is_sparse == (storage == "sparse")
    left, right = (aw.simulate(x, Population(model), steps=3000, rng=1) for x in (merged, counted))
    for name in ("state", "action", "round"):
        assert np.array_equal(getattr(left, name), getattr(right, name))
    assert merged.statistics == counted.statistics
    assert now_of(merged).round == now_of(counted).round >= 50
    assert_same(merged.policy, counted.policy)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_plan_after_a_merge_is_the_full_plan(kind, clock, storage):
    model, rng = model_of(4), np.random.default_rng(4)
    shards = shards_of(kind, model, number=4, cases=150)
    learner, compared = kind(model.problem, clock=clock, storage=storage), 0
    waiting = []
    for k, full in enumerate(model.sample(rng, 900).tolist()):
        if k % 250 == 100:
            shard = count(model.problem, shards.pop(), at_once=kind is aw.SimOOS, sparse=True)
            learner.merge(shard)
        if rounds_of(learner).is_over and now_of(learner).round:
            expected = full_plan(learner)
            assert_same(learner.replan(), expected)
            compared += 1
        case = see(learner.open(), model.problem, full)
        waiting.append((case, float(rng.random() < model.reward[tuple(full)][case.action_index])))
        while waiting and (rng.random() < 0.6 or len(waiting) > 30):
            late, reward = waiting.pop(int(rng.integers(len(waiting))))
            late.reward(reward)
        if not shards and k % 10 == 0:  # and the compiled loop takes over from where it is
            aw.simulate(learner, Population(model), steps=5, rng=k)
    assert not shards
    assert compared >= 100


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_runs_with_merges_equal_runs_with_full_plans(kind, clock, storage):
    model = model_of(5)
    one = kind(model.problem, clock=clock, storage=storage)
    other = IN_FULL[kind](model.problem, clock=clock)
    for seed, cases in enumerate(shards_of(kind, model, number=3)):
        shard = count(model.problem, cases, at_once=kind is aw.SimOOS, sparse=True)
        for learner in (one, other):
            learner.merge(shard)
        left, right = (
            aw.simulate(x, Population(model), steps=1500, rng=seed) for x in (one, other)
        )
        assert np.array_equal(left.state, right.state)
        assert np.array_equal(left.action, right.action)
        assert np.array_equal(left.round, right.round)
        assert one.statistics == other.statistics
    assert now_of(one).round == now_of(other).round >= 60


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_cases_that_bought_the_other_way_are_planned_with_too(kind, clock, storage):
    model = model_of(6, (2, 3, 2), m=2)
    other_way = aw.SeqOOS if kind is aw.SimOOS else aw.SimOOS
    one = kind(model.problem, clock=clock, storage=storage)
    other = IN_FULL[kind](model.problem, clock=clock)
    for seed, cases in enumerate(shards_of(other_way, model, number=3)):
        shard = count(model.problem, cases, at_once=other_way is aw.SimOOS, sparse=True)
        for learner in (one, other):
            learner.merge(shard)
        expected = full_plan(one)
        assert_same(one.replan(), expected)
        other.replan()
        left, right = (aw.simulate(x, Population(model), steps=500, rng=seed) for x in (one, other))
        assert np.array_equal(left.state, right.state)
        assert np.array_equal(left.action, right.action)
        assert np.array_equal(left.round, right.round)
    assert now_of(one).round == now_of(other).round >= 20


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_open_cases_live_through_a_merge(kind, clock, storage, tmp_path):
    model, rng = model_of(7), np.random.default_rng(7)
    learner = kind(model.problem, clock=clock, storage=storage)
    aw.simulate(learner, Population(model), steps=400, rng=0)
    draws = model.sample(rng, 9).tolist()
    acted = [see(learner.open(), model.problem, full) for full in draws[:3]]
    for _ in range(200):  # some more rounds may want nothing at first
        looking = [learner.open() for _ in range(3)]
        if all(case.wanted for case in looking):
            break
        see(looking[0], model.problem, draws[3]).reward(0.0)
    assert all(case.wanted for case in looking)
    policy, before = learner.policy, learner.statistics.copy()
    shard = count(
        model.problem,
        shards_of(kind, model, number=1, cases=700)[0],
        at_once=kind is aw.SimOOS,
        sparse=storage == "sparse",
    )
    learner.merge(shard)
    assert learner.statistics == before + shard
    learner.save(tmp_path / "open.askwise")
    loaded = aw.load(tmp_path / "open.askwise")
    aw.simulate(learner, Population(model), steps=300, rng=1)
    aw.simulate(loaded, Population(model), steps=300, rng=1)
    assert loaded.statistics == learner.statistics
    known = learner.statistics.copy()
    for case, full in zip(looking, draws[4:7], strict=True):
        twin = loaded.cases[case.id]
        while case.wanted:
            assert case.wanted == twin.wanted == policy.wanted(case.state)
            for x in (case, twin):
                x.observe({name: full[int(name[1:])] for name in x.wanted})
        assert case.action == twin.action == policy.action(case.state)
        observed = {f"o{i}": full[i] for i, _ in case.path}
        known.record(observed, case.action, 0.75, acquisition=bought(kind is aw.SimOOS))
        for x in (case, twin):
            x.reward(0.75)
    for case in acted:
        known.count_reward(case.state_index, case.action_index, 0.5)
        for x in (case, loaded.cases[case.id]):
            x.reward(0.5)
    assert learner.statistics == loaded.statistics == known
    expected = full_plan(learner)
    assert_same(learner.replan(), expected)
    assert_same(loaded.replan(), expected)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_who_merged_dense_statistics_can_be_saved(kind, storage, tmp_path):
    model = model_of(8)
    learner = kind(model.problem, storage=storage)
    aw.simulate(learner, Population(model), steps=300, rng=0)
    cases = shards_of(kind, model, number=1)[0]
    learner.merge(count(model.problem, cases, at_once=kind is aw.SimOOS))
    learner.save(tmp_path / "merged.askwise")
    loaded = aw.load(tmp_path / "merged.askwise")
    assert loaded.statistics == learner.statistics
    left, right = (aw.simulate(x, Population(model), steps=500, rng=1) for x in (learner, loaded))
    assert np.array_equal(left.state, right.state)
    assert np.array_equal(left.action, right.action)


@pytest.mark.parametrize("storage", STORAGES)
def test_statistics_that_were_sent_count_on(storage):
    model, sparse = model_of(8), storage == "sparse"
    cases = shards_of(aw.SeqOOS, model, number=1)[0]
    half = count(model.problem, cases[:150], at_once=False, sparse=sparse)
    half.record(*cases[150], acquisition="simultaneous")
    for sent in (pickle.loads(pickle.dumps(half)), copy.deepcopy(half)):
        assert sent == half
        kept = half.copy()
        for here, case in enumerate(cases[151:]):
            sent.record(*case, acquisition=bought(here % 2 == 0))
            kept.record(*case, acquisition=bought(here % 2 == 0))
        assert sent == kept != half
        assert contents(sent) == contents(kept)


@pytest.mark.parametrize("kind", KINDS)
def test_more_rows_than_the_first_are_merged(kind):
    problem = aw.Problem(
        observations=[
            aw.Observation(f"o{i}", values=list(range(2 + i % 5)), cost=1.0) for i in range(30)
        ],
        actions=["a0", "a1"],
        max_observations=3,
        reward_value=BETA,
    )
    rng = np.random.default_rng(0)
    everything = []
    for _ in range(1500):
        names = rng.permutation(30)[: rng.integers(1, 4)].tolist()
        observed = {f"o{i}": int(rng.integers(2 + i % 5)) for i in names}
        everything.append((observed, f"a{rng.integers(2)}", float(rng.random())))
    recorded = functools.partial(count, problem, at_once=kind is aw.SimOOS)
    parts = [recorded(everything[k::3], sparse=True) for k in range(3)]
    total = functools.reduce(operator.add, parts)
    assert total.visited > FIRST_ROWS
    assert total == recorded(everything)
    assert contents(total) == contents(recorded(everything)) == contents(total.dense())
    assert_same_plans(kind, total, everything, "sparse")
    assert_same_plans(kind, total, everything, "dense")
