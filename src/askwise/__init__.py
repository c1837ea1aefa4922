"""Learn online which information is worth its price, and what to do with the answer."""

from askwise import cuts, environments, learners, oracle
from askwise.cases import Case
from askwise.errors import AskwiseError
from askwise.explanation import Explanation, explain
from askwise.lattice import Lattice
from askwise.learners import (
    LEARNERS,
    NCCUCRL2,
    PSRL,
    UCRL2,
    AdaptiveGreedy,
    BaseLearner,
    ContextualUCB,
    EpochGreedy,
    FixedSet,
    Learner,
    LinUCB,
    NoInformation,
    PolicyUCB,
    RandomChoice,
    SeqOOS,
    SimOOS,
    load,
)
from askwise.logs import Fit, fit, off_policy
from askwise.models import Model
from askwise.policy import Policy, SequentialPolicy, SimultaneousPolicy
from askwise.problem import Observation, Panel, Problem
from askwise.simulation import Run, simulate
from askwise.statistics import Statistics
from askwise.trees import Tree
from askwise.worth import Worth, worth

__version__ = "0.1.0"

__all__ = [
    "LEARNERS",
    "NCCUCRL2",
    "PSRL",
    "UCRL2",
    "AdaptiveGreedy",
    "AskwiseError",
    "BaseLearner",
    "Case",
    "ContextualUCB",
    "EpochGreedy",
    "Explanation",
    "Fit",
    "FixedSet",
    "Lattice",
    "Learner",
    "LinUCB",
    "Model",
    "NoInformation",
    "Observation",
    "Panel",
    "Policy",
    "PolicyUCB",
    "Problem",
    "RandomChoice",
    "Run",
    "SeqOOS",
    "SequentialPolicy",
    "SimOOS",
    "SimultaneousPolicy",
    "Statistics",
    "Tree",
    "Worth",
    "cuts",
    "environments",
    "explain",
    "fit",
    "learners",
    "load",
    "off_policy",
    "oracle",
    "simulate",
    "worth",
]
