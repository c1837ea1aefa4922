"""Saved policies that cannot be are refused, whatever part of them is wrong."""

import functools

import numpy as np
import pytest

import askwise as aw
from altered_files import altered, npy
from askwise.errors import FileError

PROBLEM = aw.Problem(
    observations=[aw.Observation(name, values=["v", "w"], cost=0.1) for name in "xy"],
    actions=["a", "b"],
)
LEARNERS = {
    "a path": aw.SeqOOS,
    "a set": aw.SimOOS,
    "a tree": functools.partial(aw.Learner, model="additive"),
    "a path that explores": aw.Learner,
    "a set that explores": functools.partial(aw.Learner, acquisition="simultaneous"),
}


def opened(kind):
    learner = LEARNERS[kind](PROBLEM, rng=0)
    learner.open()
    return learner


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("kind", LEARNERS)
def test_values_that_are_no_finite_numbers_are_refused(tmp_path, kind, wrong):
    learner = opened(kind)
    values = np.array(learner.policy.values)
    assert np.isfinite(values).all()
    good = altered(tmp_path, learner, policy0_values=npy(values))
    assert aw.load(good).policy.value == learner.policy.value
    values[-1] = wrong
    with pytest.raises(FileError, match=r"altered\.askwise.* values are not all finite numbers"):
        aw.load(altered(tmp_path, learner, policy0_values=npy(values)))


@pytest.mark.parametrize(("wrong", "places"), [(-np.inf, slice(-1, None)), (np.nan, slice(None))])
@pytest.mark.parametrize("kind", LEARNERS)
def test_only_sets_may_have_no_value(tmp_path, kind, wrong, places):
    """−∞ is that of a set that is never bought, NaN that of sets that no plan compared."""
    learner = opened(kind)
    values = np.array(learner.policy.values)
    values[places] = wrong
    file = altered(tmp_path, learner, policy0_values=npy(values))
    if "set" in kind:
        np.testing.assert_array_equal(aw.load(file).policy.values, values)
    else:
        with pytest.raises(FileError, match="values are not all finite numbers"):
            aw.load(file)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -0.5])
@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("a path that explores", ["look_probability", "action_probability"]),
        ("a set that explores", ["set_probability", "action_probability"]),
    ],
)
def test_probabilities_that_are_none_are_refused(tmp_path, kind, names, wrong):
    for name in names:
        learner = opened(kind)
        chances = np.array(getattr(learner.policy.exploration, name))
        chances[0] = wrong
        with pytest.raises(FileError, match="probabilities are not all from 0 to 1"):
            aw.load(altered(tmp_path, learner, **{f"policy0_{name}": npy(chances)}))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 2.0])
def test_a_share_of_cases_is_from_0_to_1(tmp_path, wrong):
    def change(header):
        header["policies"][0]["exploration"]["header"]["replacing"] = wrong

    with pytest.raises(FileError):
        aw.load(altered(tmp_path, opened("a tree"), change))
