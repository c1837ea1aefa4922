"""Learn online which information is worth its price, and what to do with the answer."""

from askwise import oracle
from askwise.cases import Case
from askwise.errors import AskwiseError
from askwise.lattice import Lattice
from askwise.learners import LEARNERS, BaseLearner, SeqOOS, SimOOS, load
from askwise.models import Model
from askwise.policy import Policy, SequentialPolicy, SimultaneousPolicy
from askwise.problem import Observation, Problem
from askwise.statistics import Statistics

__version__ = "0.1.0"

__all__ = [
    "LEARNERS",
    "AskwiseError",
    "BaseLearner",
    "Case",
    "Lattice",
    "Model",
    "Observation",
    "Policy",
    "Problem",
    "SeqOOS",
    "SequentialPolicy",
    "SimOOS",
    "SimultaneousPolicy",
    "Statistics",
    "load",
    "oracle",
]
