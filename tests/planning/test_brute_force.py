"""Planners and oracles against every policy there is, and against a linear program."""

import numpy as np
import pytest

import askwise as aw
import brute_force as all_of

FEATURES = ("costs", "requires", "panels", "failures", "given")
ALONE = [{f: f == one for f in FEATURES} for one in FEATURES]
TOGETHER = [dict.fromkeys(FEATURES, True)]


def models(features, number, seed):
    rng = np.random.default_rng(seed)
    for _ in range(number):
        problem = all_of.random_tiny_problem(rng, **features)
        yield all_of.random_model(rng, problem)


@pytest.mark.parametrize(
    ("features", "number"),
    [*((one, 50) for one in ALONE), *((all_, 250) for all_ in TOGETHER)],
    ids=[*FEATURES, "together"],
)
def test_no_policy_gains_more_than_the_oracles(features, number):
    for model in models(features, number, seed=19):
        one_by_one, at_once = aw.oracle.sequential(model), aw.oracle.simultaneous(model)
        best = all_of.best_of_all(model, all_of.all_trees, all_of.follow_tree)
        assert one_by_one.value == pytest.approx(best, abs=1e-9)
        assert one_by_one.evaluate(model) == pytest.approx(best, abs=1e-9)
        best = all_of.best_of_all(model, all_of.all_set_policies, all_of.follow_set)
        assert at_once.value == pytest.approx(best, abs=1e-9)
        assert at_once.evaluate(model) == pytest.approx(best, abs=1e-9)
