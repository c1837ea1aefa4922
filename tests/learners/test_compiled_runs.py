"""Given observations, panels and failures: compiled runs decide as cases one by one do."""

from collections import Counter

import numpy as np
import pytest

import askwise as aw
import reference
from askwise.simulation.environments import Population, stream
from askwise.testing import begin, see
from inside import now_of
from random_problems import (
    FEATURES,
    busy_models,
    features_of,
    is_drawn_right,
    random_model,
    random_problem,
)

# --- compiled runs are the case-by-case face ------------------------------------------------------


def learner_of(kind, problem, rng, **options):
    return getattr(aw, kind)(problem, rng=rng, **options)


LEARNERS = [
    ("SimOOS", {"storage": "dense"}),
    ("SimOOS", {"storage": "sparse"}),
    ("SimOOS", {"clock": "exact"}),
    ("SeqOOS", {"storage": "dense"}),
    ("SeqOOS", {"storage": "sparse"}),
    ("SeqOOS", {"clock": "exact"}),
    *(
        ("Learner", {"model": model, "acquisition": plan})
        for model in ("joint", "additive")
        for plan in ("sequential", "simultaneous")
    ),
]


PARTS = {
    "SimOOS": ((30, 1), (1, 2), (40, 3)),
    "SeqOOS": ((30, 1), (1, 2), (40, 3)),
    "Learner": ((15, 1), (1, 2), (20, 3)),  # its plans take most of the time
}
"""How many cases each part of a run has, and its seed."""


def by_the_face(learner, environment, steps, seed):
    """The same cases as `simulate` decides, one by one."""
    problem, cases, rounds = learner.problem, [], []
    for draws in stream(environment, np.random.default_rng(seed), steps):
        for full, rewards in zip(draws.values.tolist(), draws.rewards, strict=True):
            case = see(begin(learner, full), problem, full)
            rounds.append(now_of(learner).round)
            case.reward(rewards[case.action_index])
            cases.append(case)
    return cases, rounds


@pytest.mark.parametrize(("kind", "options"), LEARNERS, ids=str)
def test_compiled_runs_equal_the_face(kind, options):
    bought, had = 0, Counter()
    models = [model for model in busy_models(4, 40, most=80) if is_drawn_right(model)]
    for model in models[:20]:
        problem, environment = model.problem, Population(model)
        had.update(features_of(problem))
        compiled, face = (learner_of(kind, problem, 6, **options) for _ in range(2))
        for steps, seed in PARTS[kind]:  # begins and ends within a round
            run = aw.simulate(compiled, environment, steps=steps, rng=seed)
            cases, rounds = by_the_face(face, environment, steps, seed)
            assert run.state.tolist() == [case.state_index for case in cases]
            assert run.action.tolist() == [case.action_index for case in cases]
            assert run.round.tolist() == rounds
            assert run.cost.tolist() == [case.cost for case in cases]
            expected = [reference.spent(problem, case.state) for case in cases]
            np.testing.assert_allclose(run.cost, expected, atol=1e-12 * problem.reward_value)
            assert compiled.statistics == face.statistics
            bought += sum(len(case.path) for case in cases)
        assert now_of(compiled).rng.random() == now_of(face).rng.random()
    assert bought >= 500
    assert all(had[feature] >= 5 for feature in FEATURES), had


# --- what is not used changes nothing -------------------------------------------------------------


UNUSED = ["given", "panel"]


def with_unused(problem, place, unused):
    """The same problem with a given observation of one value there, and a panel without a fee."""
    observations = list(problem.observations)
    if "given" in unused:
        observations.insert(place, aw.Observation("site", values=["here"], given=True))
    members = [o.name for o in problem.observations][:2]
    return aw.Problem(
        observations=observations,
        actions=problem.actions,
        max_observations=problem.m,
        reward_value=problem.reward_value,
        panels=[aw.Panel(observations=members, fee=0.0)] if "panel" in unused else [],
    )


def plain_models(seed, number, *, unused=UNUSED, first=True):
    """Models of problems without any feature, twice: as they are, and with what is not used."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        nothing = [False] * len(FEATURES)
        problem = random_problem(rng, most=40, wanted=nothing, buys=True)
        model = random_model(rng, problem)
        place = 0 if first else len(problem.observations)
        shape = list(model.probability.shape)
        if "given" in unused:
            shape.insert(place, 1)
        more = with_unused(problem, place, unused)
        yield (
            model,
            aw.Model(more, model.probability.reshape(shape), model.reward.reshape(*shape, -1)),
        )


def assert_same_counters(plain, more):
    """States keep their numbers: one more digit that is always 0."""
    assert plain.cases == more.cases
    for s in range(plain.lattice.size):
        state = dict(more.lattice.state(s))
        assert state.pop("site", "here") == "here"
        assert state == plain.lattice.state(s)
    for (name, one), (_, other) in zip(plain.dense().arrays(), more.dense().arrays(), strict=True):
        assert one.tobytes() == other.tobytes(), name


def test_oracles_take_no_notice_of_what_is_not_used():
    for plain, more in plain_models(5, 60):
        for find in (aw.oracle.sequential, aw.oracle.simultaneous):
            one, other = find(plain), find(more)
            assert one.value == other.value
            assert one.values.tobytes() == other.values.tobytes()
            assert one.actions.tobytes() == other.actions.tobytes()
            assert one.tree() == other.tree()
            assert one.evaluate(plain) == other.evaluate(more)


# A Learner's model has a place for every observation, so that one more of one value is a model of
# other bits: only panels leave it as it was.
UNNOTICED = [
    (kind, options, unused)
    for kind, options in LEARNERS
    for unused in (["panel"] if kind == "Learner" else UNUSED)
]


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
@pytest.mark.parametrize(("kind", "options", "unused"), UNNOTICED, ids=str)
def test_learners_take_no_notice_of_what_is_not_used(kind, options, unused, first):
    bought = 0
    for plain, more in plain_models(6, 3, unused=[unused], first=first):
        one, other = (learner_of(kind, model.problem, 7, **options) for model in (plain, more))
        left, rounds = by_the_face(one, Population(plain), 100, 8)
        right, others = by_the_face(other, Population(more), 100, 8)
        assert [(c.path, c.action) for c in left] == [(c.path, c.action) for c in right]
        assert [c.cost for c in left] == [c.cost for c in right]
        assert rounds == others
        assert_same_counters(one.statistics, other.statistics)
        assert one.policy.tree() == other.policy.tree()
        if kind != "Learner":
            assert one.policy.value == other.policy.value
        bought += sum(len(c.path) for c in left)
    assert bought >= 60


def compare_compiled_runs(kind, options, models):
    for plain, more in models:
        one, other = (learner_of(kind, model.problem, 7, **options) for model in (plain, more))
        left = aw.simulate(one, Population(plain), steps=250, rng=8)
        right = aw.simulate(other, Population(more), steps=250, rng=8)
        assert left.state.tolist() == right.state.tolist()
        assert left.action.tolist() == right.action.tolist()
        assert left.round.tolist() == right.round.tolist()
        assert left.cost.tolist() == right.cost.tolist()
        assert_same_counters(one.statistics, other.statistics)


@pytest.mark.parametrize(
    ("kind", "options", "unused"),
    UNNOTICED,
    ids=str,
)
def test_compiled_runs_take_no_notice_of_what_is_not_used(kind, options, unused):
    compare_compiled_runs(kind, options, plain_models(6, 3, unused=[unused], first=False))


@pytest.mark.parametrize(("kind", "options"), LEARNERS[:6], ids=str)
def test_compiled_runs_take_no_notice_of_one_value_declared_first(kind, options):
    compare_compiled_runs(kind, options, plain_models(6, 3, unused=["given"]))
