"""The comparators: algorithms of other papers, and the simplest things one could do instead."""

from askwise.learners.baselines.adaptive_greedy import AdaptiveGreedy
from askwise.learners.baselines.budgeted_regression import BudgetedRegression
from askwise.learners.baselines.contextual_ucb import ContextualUCB
from askwise.learners.baselines.contextual_zooming import ContextualZooming
from askwise.learners.baselines.epoch_greedy import EpochGreedy
from askwise.learners.baselines.fixed_set import FixedSet
from askwise.learners.baselines.lin_ucb import LinUCB
from askwise.learners.baselines.ncc_ucrl2 import NCCUCRL2
from askwise.learners.baselines.no_information import NoInformation
from askwise.learners.baselines.online_probing import OnlineProbing
from askwise.learners.baselines.policy_ucb import PolicyUCB
from askwise.learners.baselines.psrl import PSRL
from askwise.learners.baselines.random_choice import RandomChoice
from askwise.learners.baselines.releaf import RELEAF
from askwise.learners.baselines.rlsvi import RLSVI
from askwise.learners.baselines.ucrl2 import UCRL2

__all__ = [
    "NCCUCRL2",
    "PSRL",
    "RELEAF",
    "RLSVI",
    "UCRL2",
    "AdaptiveGreedy",
    "BudgetedRegression",
    "ContextualUCB",
    "ContextualZooming",
    "EpochGreedy",
    "FixedSet",
    "LinUCB",
    "NoInformation",
    "OnlineProbing",
    "PolicyUCB",
    "RandomChoice",
]
