"""One file an algorithm, one line in the registry."""

import os

from askwise.learners.base import BaseLearner
from askwise.learners.seq_oos import SeqOOS
from askwise.learners.sim_oos import SimOOS

LEARNERS: dict[str, type[BaseLearner]] = {
    learner.name: learner
    for learner in (
        SimOOS,
        SeqOOS,
    )
}
"""The registry: a name here is a name everywhere. `LEARNERS[MyLearner.name] = MyLearner` adds."""


def load(path: str | os.PathLike[str]) -> BaseLearner:
    """The learner that `learner.save(path)` wrote; it goes on as the original would have."""
    from askwise.learners.saving import read

    return read(path, LEARNERS)


__all__ = ["LEARNERS", "BaseLearner", "SeqOOS", "SimOOS", "load"]
