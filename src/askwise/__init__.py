"""Learn online which information is worth its price, and what to do with the answer."""

from askwise import learners
from askwise.counting import Statistics
from askwise.errors import AskwiseError
from askwise.estimation.models import Model
from askwise.explain import explain, still_to_learn, worth
from askwise.learners import Learner, SeqOOS, SimOOS, baselines
from askwise.learners.cases import Case
from askwise.logs import CaseLog, compare, fit, load, off_policy
from askwise.policy import Policy, oracle
from askwise.problem import Action, Budget, Observation, Panel, Problem, cuts
from askwise.simulation import environments, simulate

__version__ = "0.1.0"

__all__ = [
    "Action",
    "AskwiseError",
    "Budget",
    "Case",
    "CaseLog",
    "Learner",
    "Model",
    "Observation",
    "Panel",
    "Policy",
    "Problem",
    "SeqOOS",
    "SimOOS",
    "Statistics",
    "baselines",
    "compare",
    "cuts",
    "environments",
    "explain",
    "fit",
    "learners",
    "load",
    "off_policy",
    "oracle",
    "simulate",
    "still_to_learn",
    "worth",
]
