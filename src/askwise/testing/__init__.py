"""Checks that every learner, environment and ledger must pass, shipped for those who write one.

`check_learner`, `check_environment` and `check_ledger` run all checks of a kind, and the first that
fails raises an AssertionError that says what was expected. `LEARNER_CHECKS`, `ENVIRONMENT_CHECKS`
and `LEDGER_CHECKS` hold them one by one, for a parametrised test. A learner is given as its class,
an environment as a function that makes one, a ledger as a function that opens the database of a
name:

>>> from tempfile import TemporaryDirectory
>>> from askwise import SeqOOS, testing
>>> from askwise.service.ledger.sqlite import SqliteLedger
>>> from askwise.simulation.environments import Population, breast_cancer
>>> testing.check_learner(SeqOOS)
>>> testing.check_environment(lambda: Population(breast_cancer()))
>>> with TemporaryDirectory() as folder:
...     testing.check_ledger(lambda name: SqliteLedger(f"{folder}/{name}.db"))
"""

from collections.abc import Callable

from askwise.simulation.environments import random_model
from askwise.testing.environments import (
    ENVIRONMENT_CHECKS,
    MakesEnvironment,
    check_environment,
)
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
from askwise.testing.ledger_entries import MakesLedger
from askwise.testing.ledgers import LEDGER_CHECKS, check_ledger
from askwise.testing.people_checks import (
    check_counts_who_knew_no_more,
    check_learns_nothing_from_who_knew_more,
    check_takes_stakes,
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
    check_takes_stakes,
    check_learns_nothing_from_who_knew_more,
    check_counts_who_knew_no_more,
)


def check_learner(make: MakesLearner) -> None:
    """Run every check; the first that fails raises."""
    for check in LEARNER_CHECKS:
        check(make)


__all__ = [
    "ENVIRONMENT_CHECKS",
    "LEARNER_CHECKS",
    "LEDGER_CHECKS",
    "MakesEnvironment",
    "MakesLearner",
    "MakesLedger",
    "begin",
    "check_environment",
    "check_learner",
    "check_ledger",
    "play",
    "random_model",
    "see",
]
