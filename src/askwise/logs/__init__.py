"""Learns from logs of past cases, without bias: `fit`, `off_policy`, `compare`, `draft`."""

from askwise.logs.case_log import CaseLog
from askwise.logs.comparing import compare
from askwise.logs.comparison import Comparison
from askwise.logs.drafting import Draft, draft
from askwise.logs.fitting import Fit, fit
from askwise.logs.loading import load
from askwise.logs.off_policy import OffPolicyValue, off_policy
from askwise.logs.scoring import Score
from askwise.logs.trial import Trial
from askwise.policy.scores import Estimate

__all__ = [
    "CaseLog",
    "Comparison",
    "Draft",
    "Estimate",
    "Fit",
    "OffPolicyValue",
    "Score",
    "Trial",
    "compare",
    "draft",
    "fit",
    "load",
    "off_policy",
]
