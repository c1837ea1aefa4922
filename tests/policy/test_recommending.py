"""One policy is recommended, wherever it is shown, and its value is the gain at its root."""

import numpy as np
import pytest

import askwise as aw
from askwise.explain import worth_draws
from askwise.learners import LEARNERS
from askwise.policy.acquisition import Sequential, Simultaneous
from askwise.policy.recommending import best_by, recommended
from askwise.service.dashboard.explanations import policy_tree, worth
from askwise.service.replanning.policy_versions import PolicyVersion
from askwise.simulation.environments import Population
from learners.test_warm_start import Effects, complete_log, decided_log
from random_problems import random_model, random_problem

LEARNED = [
    (aw.Learner, {}),
    (aw.Learner, {"acquisition": "simultaneous"}),
    (aw.Learner, {"model": "additive"}),
    (aw.Learner, {"model": "additive", "acquisition": "simultaneous"}),
    (aw.SeqOOS, {}),
    (aw.SimOOS, {}),
    (LEARNERS["psrl"], {}),
    (LEARNERS["lin-ucb"], {}),
]


@pytest.fixture(autouse=True)
def few_worlds(monkeypatch):
    """Intervals come from many drawn worlds; what is recommended and its gain do not."""
    monkeypatch.setattr(worth_draws, "WORLDS", 5)


def is_one(learner):
    """All that is shown of a learner is what it recommends."""
    policy = learner.recommend()
    tree = policy.tree()
    beta = learner.problem.reward_value
    assert policy.value == pytest.approx(tree.root.reason.gain, abs=1e-9 * beta)
    found = aw.worth(learner)
    assert found.policy.tree() == tree
    assert found._sensitivity.today.policy.tree().outline() == tree.outline()
    assert found.gain == pytest.approx(policy.value, abs=1e-9 * beta)
    assert all(row.gain == found.gain for row in found)
    explained = aw.explain(learner)
    assert str(explained.tree) == str(tree)
    assert tree.outline() in explained.tree.outline()
    assert explained.gain == pytest.approx(policy.value, abs=1e-9 * beta)
    planned = PolicyVersion(1, learner, learner.policy)
    answer = policy_tree(planned)
    assert answer.recommends.text == str(tree)
    assert answer.recommends.value == pytest.approx(policy.value, abs=1e-9 * beta)
    assert worth(planned).gain == pytest.approx(policy.value, abs=1e-9 * beta)
    blind = found.blind_gain
    assert blind is None or policy.value >= blind - 1e-9 * beta
    return policy


@pytest.mark.parametrize("which", range(len(LEARNED)))
def test_every_learner_shows_one_policy(which):
    kind, options = LEARNED[which]
    rng = np.random.default_rng(which)
    bought = 0
    for seed in range(4):
        model = random_model(rng, random_problem(rng, most=48, buys=True))
        learner = kind(model.problem, rng=seed, **options)
        aw.simulate(learner, Population(model), steps=400, rng=seed)
        bought += bool(is_one(learner).looks(0))
    assert bought


@pytest.mark.parametrize("size", [4, 12])
@pytest.mark.parametrize("kind", ["complete", "sequential", "simultaneous"])
def test_a_log_and_its_learners_show_one_policy(size, kind):
    world, rng = Effects(7, size=size, m=2, given=1, panel=True), np.random.default_rng(0)
    if kind == "complete":
        fit = aw.fit(complete_log(world, 500, rng), world.problem, rng=0)
        names = [None, "seq-oos", "sim-oos"]
    else:
        log = decided_log(world, 1500, rng, at_once=kind == "simultaneous")
        fit = aw.fit(log, world.problem, acquisition=kind, rng=0)
        names = [None, "sim-oos" if kind == "simultaneous" else "seq-oos"]
    for name in names:
        policy = is_one(fit.learner(name))
        if name is None:
            assert fit.recommend().tree() == policy.tree()
            assert str(aw.explain(fit).tree) == str(policy.tree())
            assert aw.worth(fit).gain == pytest.approx(policy.value, abs=1e-9 * 100)


def test_the_value_is_not_far_below_what_it_gains():
    """It was 84.6 beside a root of 92.5 and a truth of 92.7."""
    model = aw.environments.breast_cancer(cost=1.0)
    learner = aw.SeqOOS(model.problem, rng=0)
    aw.simulate(learner, Population(model), steps=3000, rng=0)
    policy = learner.recommend()
    assert policy.value == pytest.approx(policy.tree().root.reason.gain, abs=1e-9)
    assert policy.value == pytest.approx(policy.evaluate(model), abs=4)


@pytest.mark.parametrize("way", [Sequential(), Simultaneous()])
def test_of_a_truth_the_best_policy_is_recommended(way):
    """Where nothing is in doubt there is nothing to be careful about."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        model = random_model(rng, random_problem(rng, most=48))
        beliefs = model.beliefs(aw.states.Lattice(model.problem))
        best = best_by(way, beliefs, beliefs.lattice)
        found = recommended(way, beliefs)
        near = 1e-9 * model.problem.reward_value
        assert found.value == pytest.approx(best.value, abs=near)
        assert found.evaluate(model) == pytest.approx(best.evaluate(model), abs=near)


def test_what_was_hardly_tried_is_not_recommended_on_hope():
    """The second action was never taken: its prior mean of ½ is not a reason to take it."""
    problem = aw.Problem(
        observations=[aw.Observation("x", values=[0, 1], cost=1)],
        actions=["known", "never"],
        reward_value=100,
    )
    rng = np.random.default_rng(0)
    log = {"x": rng.integers(2, size=200).tolist(), "action": ["known"] * 200}
    log["reward"] = (rng.random(200) < 0.2).astype(float).tolist()
    policy = aw.fit(log, problem).recommend()
    assert policy.action({}) == "known"
    assert policy.value == pytest.approx(20, abs=6)


@pytest.mark.parametrize("seed", range(6))
def test_counters_buy_nothing_where_their_own_tree_says_that_stopping_is_better(seed):
    problem = aw.Problem(
        observations=[aw.Observation(f"o{k}", values=list("abc"), cost=1.0) for k in range(6)],
        actions=["p", "q"],
        max_observations=3,
        reward_value=50.0,
    )
    first = np.indices((3,) * 6)[0]
    better = 0.5 * (first == 1)
    reward = np.stack([0.2 + better, 0.7 - better], axis=-1)
    population = Population(aw.Model(problem, np.full((3,) * 6, 3.0**-6), reward))
    learner = aw.SeqOOS(problem, rng=seed)
    aw.simulate(learner, population, steps=300, rng=7)

    def check(node):
        for _, child in getattr(node, "branches", ()):
            check(child)
        reason = node.reason
        if reason.gain is not None and reason.stop is not None and reason.stop.gain is not None:
            assert reason.gain >= reason.stop.gain

    check(learner.recommend().tree().root)


def test_what_is_due_to_chance_is_not_counted_on():
    """252 combinations of values, none of which matters: effects of usual size were found there."""
    numbers = {"a": 3, "b": 2, "c": 3, "d": 2}
    problem = aw.Problem(
        observations=[
            aw.Observation("shop", values=range(7), given=True),
            *(aw.Observation(name, values=range(k), cost=0.1) for name, k in numbers.items()),
        ],
        actions=["send", "hold"],
        reward_value=100.0,
    )
    shape = [7, *numbers.values()]
    rewards = np.stack([np.full(shape, mean) for mean in (0.95, 0.9)], axis=-1)
    model = aw.Model(problem, np.full(shape, 1 / 252), rewards)
    above, lost = [], []
    for seed in (0, 2, 3):
        learner = aw.Learner(problem, rng=seed)
        aw.simulate(learner, Population(model), steps=2_000, rng=seed)
        policy = learner.recommend()
        truth = policy.evaluate(model)
        above.append(policy.value - truth)
        lost.append(95.0 - truth)
    assert np.mean(above) < 1.0  # 2.5 with the first variances of effects
    assert np.mean(lost) < 0.8  # 1.3
