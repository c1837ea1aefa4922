"""`Learner.merge`: what two learners have counted, added exactly."""

import itertools
import threading

import numpy as np
import pytest

import askwise as aw
from askwise.errors import OptionError, StatisticsError
from askwise.simulation.environments import Population
from askwise.testing import random_model
from inside import now_of, strategy_of
from waiting import PATIENCE

KINDS = list(itertools.product(["joint", "additive"], ["sequential", "simultaneous"]))


def model_of(seed=3):
    return random_model(np.random.default_rng(seed), (2, 3, 2), actions=2, max_observations=2)


def learner_of(model, kind, seed, steps, **options):
    learner = aw.Learner(model.problem, model=kind[0], acquisition=kind[1], rng=seed, **options)
    aw.simulate(learner, Population(model), steps=steps, rng=seed)
    return learner


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
@pytest.mark.parametrize("steps", [(700, 300), (400, 400)])
def test_it_does_not_matter_who_is_merged_into_whom(kind, steps):
    model = model_of()

    def two():
        return learner_of(model, kind, 1, steps[0]), learner_of(model, kind, 2, steps[1])

    (one, other), (left, right) = two(), two()
    expected = one.statistics + other.statistics
    tallies = {
        name: array + strategy_of(other).tallies()[name]
        for name, array in strategy_of(one).tallies().items()
    }
    one.merge(other)
    right.merge(left)
    for merged in (one, right):
        assert merged.statistics == expected
        assert now_of(merged).opened == sum(steps)
        for name, array in strategy_of(merged).tallies().items():
            assert np.array_equal(array, tallies[name])
    assert str(one.recommend().tree()) == str(right.recommend().tree())
    assert str(aw.worth(one)) == str(aw.worth(right))


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_a_merged_learner_goes_on_and_so_does_its_copy(kind, tmp_path):
    model = model_of()
    one, other = learner_of(model, kind, 1, 300), learner_of(model, kind, 2, 500)
    before = other.statistics.copy()
    waiting = other.open()
    one.merge(other)
    assert other.statistics == before  # nothing happened to it, and its case is still its own
    assert waiting.id in other.cases
    assert not one.cases
    one.save(tmp_path / "one.askwise")
    loaded = aw.load(tmp_path / "one.askwise")
    runs = [aw.simulate(x, Population(model), steps=400, rng=5) for x in (one, loaded)]
    assert np.array_equal(runs[0].state, runs[1].state)
    assert np.array_equal(runs[0].action, runs[1].action)
    assert one.statistics.cases == 1200


def test_many_learners_in_any_order_know_the_same():
    model = model_of()
    for kind in KINDS:
        parts = [learner_of(model, kind, seed, 100 + 50 * seed) for seed in range(3)]
        trees = set()
        for order in itertools.permutations(range(3)):
            total = aw.Learner(model.problem, model=kind[0], acquisition=kind[1], rng=9)
            for k in order:
                total.merge(parts[k])
            trees.add(str(total.recommend().tree()))
        assert len(trees) == 1


def test_a_joint_learner_takes_statistics_too():
    model = model_of()
    counted = aw.SeqOOS(model.problem, rng=0)
    aw.simulate(counted, Population(model), steps=500, rng=0)
    learner = aw.Learner(model.problem, rng=0)
    learner.merge(counted.statistics)
    assert learner.statistics == counted.statistics
    assert now_of(learner).opened == 500
    aw.simulate(learner, Population(model), steps=100, rng=1)
    assert now_of(learner).round < 100  # rounds are a part of all cases before them


def test_what_is_forgotten_goes_with_the_block_it_was_merged_in():
    model = model_of()
    options = {"window": 400}
    one, other = (learner_of(model, KINDS[0], seed, 350, **options) for seed in (1, 2))
    one.merge(other)
    assert one.statistics.cases == 700
    aw.simulate(one, Population(model), steps=900, rng=3)
    assert one.statistics.cases <= 400


def test_what_cannot_be_merged_is_refused_and_nothing_changes():
    model = model_of()
    learner = learner_of(model, ("additive", "sequential"), 1, 50)
    before = learner.statistics.copy()
    joint = learner_of(model, ("joint", "sequential"), 1, 50)
    records = aw.fit(
        {"o0": [0, 1] * 20, "o1": [0, 2] * 20, "o2": [0, 0] * 20, "a": ["a0", "a1"] * 20},
        model.problem,
        label="a",
    )
    with pytest.raises(StatisticsError, match=r"merge\(other\), not merge\(other.statistics\)"):
        learner.merge(joint.statistics)
    with pytest.raises(OptionError, match="model is 'additive' here and 'joint' in the other"):
        learner.merge(joint)
    with pytest.raises(OptionError, match="window is None here and 100 in the other"):
        joint.merge(aw.Learner(model.problem, model="joint", window=100))
    with pytest.raises(StatisticsError, match="learner and seq-oos differ"):
        learner.merge(aw.SeqOOS(model.problem))
    with pytest.raises(StatisticsError, match="into itself: its cases would count twice"):
        learner.merge(learner)
    paper = aw.SeqOOS(model.problem)
    with pytest.raises(StatisticsError, match="into itself: its cases would count twice"):
        paper.merge(paper.statistics)
    with pytest.raises(StatisticsError, match="learners of two different problems"):
        learner.merge(
            aw.Learner(random_model(np.random.default_rng(1), (2, 2)).problem, model="additive")
        )
    with pytest.raises(StatisticsError, match="complete records count in every state"):
        joint.merge(records.statistics)
    with pytest.raises(StatisticsError, match="expected Statistics, or a learner of the same kind"):
        learner.merge(3)
    assert learner.statistics == before


def test_two_learners_may_be_merged_into_each_other_at_a_time():
    model = model_of()
    one, other = learner_of(model, KINDS[0], 1, 50), learner_of(model, KINDS[0], 2, 50)
    threads = [
        threading.Thread(target=left.merge, args=(right,), daemon=True)
        for left, right in [(one, other), (other, one)] * 5
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
