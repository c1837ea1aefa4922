"""One file an algorithm, one line in the registry."""

import os

from askwise.learners.base import BaseLearner
from askwise.learners.baselines.adaptive_greedy import AdaptiveGreedy
from askwise.learners.baselines.contextual_ucb import ContextualUCB
from askwise.learners.baselines.epoch_greedy import EpochGreedy
from askwise.learners.baselines.fixed_set import FixedSet
from askwise.learners.baselines.lin_ucb import LinUCB
from askwise.learners.baselines.ncc_ucrl2 import NCCUCRL2
from askwise.learners.baselines.no_information import NoInformation
from askwise.learners.baselines.policy_ucb import PolicyUCB
from askwise.learners.baselines.psrl import PSRL
from askwise.learners.baselines.random_choice import RandomChoice
from askwise.learners.baselines.ucrl2 import UCRL2
from askwise.learners.learner import Learner
from askwise.learners.seq_oos import SeqOOS
from askwise.learners.sim_oos import SimOOS

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
