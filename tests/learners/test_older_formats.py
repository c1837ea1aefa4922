"""Files of older formats are read as they were meant."""

import pytest

import askwise as aw
from askwise.errors import FileError
from learners.test_saving import altered_fixture, problem  # noqa: F401 (a fixture)


def test_a_file_of_the_format_before_is_read_as_it_was(altered):
    """Bins did not lean on their neighbours then: what it goes on to decide must be the same."""
    observations = [aw.Observation.binned("age", edges=[30, 50], cost=1), *problem().observations]
    binned = aw.Problem(observations=observations, actions=["wait", "treat"])
    assert aw.load(altered(aw.Learner(binned))).problem.observations[0].is_ordered

    def as_before(header):
        assert header["version"] == 10
        header["version"] = 7

    old = aw.load(altered(aw.Learner(binned), as_before))
    assert [o.is_ordered for o in old.problem.observations] == [False] * len(observations)
    assert aw.load(altered(old)).problem == old.problem
    old.merge(aw.Learner(binned))  # the counters are of the same states


def test_a_file_of_two_formats_before_goes_on_deciding(altered):
    """It has no counters of graded rewards, nor of what people did: they are 0, and not damaged."""
    learner = aw.Learner(problem(), rng=1)
    for _ in range(30):
        case = learner.open()
        while case.wanted:
            case.observe(dict.fromkeys(case.wanted, "v0"))
        case.reward(0.7)

    def as_then(header):
        header["version"] = 6

    missing = dict.fromkeys(("graded_sums", "overruled", "unasked"))
    old = aw.load(altered(learner, as_then, **missing))
    assert old.statistics.cases == 30
    assert old.statistics.reward_sums.sum() == learner.statistics.reward_sums.sum()
    assert not old.statistics.graded_sums.any()
    old.open()
    with pytest.raises(FileError, match="graded_sums"):
        aw.load(altered(learner, **missing))
