"""Checks that every learner must pass, shipped for those who write their own.

    from askwise.testing import check_learner
    check_learner(MyLearner)                    # or a function (problem, *, rng) -> learner

`LEARNER_CHECKS` holds them one by one, for a parametrised test.
"""

from collections.abc import Callable

from askwise.simulation.environments import random_model
from askwise.testing.learner_checks import (
    check_bad_input_changes_nothing,
    check_buys_at_most_m_and_counts_the_cost,
    check_compiled_run_equals_the_face,
    check_counts_each_case_once,
    check_policy_is_frozen_and_readable,
    check_reading_changes_nothing,
    check_refuses_damaged_files,
    check_rewards_come_in_any_order,
    check_same_seed_same_run,
    check_saved_and_loaded_goes_on,
    check_works_from_threads,
)
from askwise.testing.playing import MakesLearner, begin, play, see
from askwise.testing.real_life_checks import (
    check_takes_what_is_on_file,
    check_what_happens_late,
)

LEARNER_CHECKS: tuple[Callable[[MakesLearner], None], ...] = (
    check_same_seed_same_run,
    check_saved_and_loaded_goes_on,
    check_reading_changes_nothing,
    check_compiled_run_equals_the_face,
    check_buys_at_most_m_and_counts_the_cost,
    check_counts_each_case_once,
    check_rewards_come_in_any_order,
    check_bad_input_changes_nothing,
    check_refuses_damaged_files,
    check_works_from_threads,
    check_policy_is_frozen_and_readable,
    check_what_happens_late,
    check_takes_what_is_on_file,
)


def check_learner(make: MakesLearner) -> None:
    """Run every check; the first that fails raises."""
    for check in LEARNER_CHECKS:
        check(make)


__all__ = [
    "LEARNER_CHECKS",
    "MakesLearner",
    "begin",
    "check_learner",
    "play",
    "random_model",
    "see",
]
