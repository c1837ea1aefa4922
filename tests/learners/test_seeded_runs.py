"""Decisions and counters of seeded runs are those that were recorded."""

import json

import pytest

import seeded_runs


@pytest.fixture(scope="module")
def found():
    return dict(seeded_runs.all_runs())


def test_every_decision_is_the_one_that_was_recorded(found):
    recorded = json.loads(seeded_runs.RECORDED.read_text(encoding="utf-8"))
    changed = [name for name in recorded | found if recorded.get(name) != found.get(name)]
    assert changed == []


def test_another_seed_is_another_hash():
    """The hashes can tell runs apart."""
    problem = seeded_runs.plain_problem()
    hashes = {
        seeded_runs.one_run(
            seeded_runs.make("learner", problem, {}), seeded_runs.population(problem, seed)
        )
        for seed in (5, 6)
    }
    assert len(hashes) == 2
