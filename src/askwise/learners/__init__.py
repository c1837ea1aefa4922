"""Each algorithm has one file, and one line in the registry."""

from askwise.learners import baselines
from askwise.learners.default import Learner
from askwise.learners.following import Follower
from askwise.learners.learner import BaseLearner
from askwise.learners.registry import LEARNERS, from_bytes, load, make
from askwise.learners.seq_oos import SeqOOS
from askwise.learners.sim_oos import SimOOS

__all__ = [
    "LEARNERS",
    "BaseLearner",
    "Follower",
    "Learner",
    "SeqOOS",
    "SimOOS",
    "baselines",
    "from_bytes",
    "load",
    "make",
]
