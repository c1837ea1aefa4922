"""One file an algorithm, one line in the registry."""

import os

from askwise.learners.adaptive_greedy import AdaptiveGreedy
from askwise.learners.base import BaseLearner
from askwise.learners.contextual_ucb import ContextualUCB
from askwise.learners.epoch_greedy import EpochGreedy
from askwise.learners.fixed_set import FixedSet
from askwise.learners.learner import Learner
from askwise.learners.lin_ucb import LinUCB
from askwise.learners.ncc_ucrl2 import NCCUCRL2
from askwise.learners.no_information import NoInformation
from askwise.learners.policy_ucb import PolicyUCB
from askwise.learners.psrl import PSRL
from askwise.learners.random_choice import RandomChoice
from askwise.learners.seq_oos import SeqOOS
from askwise.learners.sim_oos import SimOOS
from askwise.learners.ucrl2 import UCRL2

LEARNERS: dict[str, type[BaseLearner]] = {
    learner.name: learner
    for learner in (
        Learner,
        SimOOS,
        SeqOOS,
        PSRL,
        AdaptiveGreedy,
        UCRL2,
        NCCUCRL2,
        ContextualUCB,
        FixedSet,
        NoInformation,
        LinUCB,
        EpochGreedy,
        PolicyUCB,
        RandomChoice,
    )
}
"""The registry: a name here is a name everywhere. `LEARNERS[MyLearner.name] = MyLearner` adds."""


def load(path: str | os.PathLike[str]) -> BaseLearner:
    """The learner that `learner.save(path)` wrote; it goes on as the original would have."""
    from askwise.learners.saving import read

    return read(path, LEARNERS)


__all__ = [
    "LEARNERS",
    "NCCUCRL2",
    "PSRL",
    "UCRL2",
    "AdaptiveGreedy",
    "BaseLearner",
    "ContextualUCB",
    "EpochGreedy",
    "FixedSet",
    "Learner",
    "LinUCB",
    "NoInformation",
    "PolicyUCB",
    "RandomChoice",
    "SeqOOS",
    "SimOOS",
    "load",
]
