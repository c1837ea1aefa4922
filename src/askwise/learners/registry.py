"""Learners by their names: one line here gives an algorithm its name everywhere.

The command line, problem files, the service, saved learners, the conformance suite, the index of
the documentation and the benchmarks all use `LEARNERS`, and make learners by `make`.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any

from askwise._support.typing import RandomSource
from askwise.errors import OptionError
from askwise.learners.baselines import (
    NCCUCRL2,
    PSRL,
    RELEAF,
    RLSVI,
    UCRL2,
    AdaptiveGreedy,
    BudgetedRegression,
    ContextualUCB,
    ContextualZooming,
    EpochGreedy,
    FixedSet,
    LinUCB,
    NoInformation,
    OnlineProbing,
    PolicyUCB,
    RandomChoice,
)
from askwise.learners.default import Learner
from askwise.learners.learner import BaseLearner
from askwise.learners.seq_oos import SeqOOS
from askwise.learners.sim_oos import SimOOS
from askwise.problem import Problem

LEARNERS: dict[str, type[BaseLearner]] = {
    learner.name: learner
    for learner in (
        Learner,
        SimOOS,
        SeqOOS,
        PSRL,
        RLSVI,
        AdaptiveGreedy,
        UCRL2,
        NCCUCRL2,
        ContextualUCB,
        ContextualZooming,
        RELEAF,
        FixedSet,
        NoInformation,
        LinUCB,
        BudgetedRegression,
        EpochGreedy,
        OnlineProbing,
        PolicyUCB,
        RandomChoice,
    )
}
"""The registry. `LEARNERS[MyLearner.name] = MyLearner` adds an algorithm of your own."""


ONLY_DEFAULT = {
    "budget": "the shadow price follows from the estimated spend of cases, and the others have "
    "no estimate of it: plans of theirs are for the best plausible world, or a drawn one",
    "explore": "the others explore by the plan itself, so no case could do without",
}
"""Options of the default learner that no other one has, and the reason."""


def learner_class(name: str) -> type[BaseLearner]:
    """Returns the learner of that name, or raises an error that lists the names."""
    if name not in LEARNERS:
        raise OptionError(f"unknown learner {name!r}, expected one of: {', '.join(LEARNERS)}")
    return LEARNERS[name]


def option_names(name: str) -> list[str]:
    """The options that the learner of that name takes, beside the seed."""
    parameters = inspect.signature(learner_class(name)).parameters
    return [option for option in parameters if option not in ("problem", "rng")]


def make(
    name: str,
    problem: Problem,
    options: Mapping[str, Any] | None = None,
    *,
    rng: RandomSource = None,
) -> BaseLearner:
    """Makes a learner by its name. An unknown name or option raises an error that lists the known
    ones.

    >>> from askwise.simulation.environments import breast_cancer
    >>> make("seq-oos", breast_cancer().problem, {"delta": 0.05}, rng=0)
    <SeqOOS: 0 cases, round 0>
    """
    kind: Callable[..., BaseLearner] = learner_class(name)
    options = dict(options or {})
    for option in options:
        check_option(name, option)
    try:
        return kind(problem, **options, rng=rng)
    except TypeError as error:
        raise OptionError(f"options of {name!r}: {error}") from None


def check_option(name: str, option: str) -> None:
    """Raises an error unless the learner of that name takes the option."""
    known = option_names(name)
    if option in known:
        return
    if option in ONLY_DEFAULT:
        raise OptionError(
            f"{option} is an option of the default learner only, not of {name!r}: "
            f"{ONLY_DEFAULT[option]}"
        )
    expected = ", ".join(known) or "none"
    raise OptionError(f"learner {name!r} has no option {option!r}, expected: {expected}")


def load(path: str | os.PathLike[str]) -> BaseLearner:
    """Returns the learner that `learner.save(path)` wrote. It continues exactly as the original."""
    from askwise.learners.saving import read

    return read(path, LEARNERS)


def from_bytes(content: bytes) -> BaseLearner:
    """Returns the learner that `learner.to_bytes()` gave. It continues exactly as the original."""
    from askwise.learners.saving import from_bytes

    return from_bytes(content, LEARNERS)
