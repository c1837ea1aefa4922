"""Logs in: what can be learned from what happened before, without bias."""

from askwise.logs.comparing import Comparison, Trial, compare
from askwise.logs.drafting import Draft, draft
from askwise.logs.fitting import Fit, fit
from askwise.logs.off_policy import Estimate, OffPolicyValue, off_policy

__all__ = [
    "Comparison",
    "Draft",
    "Estimate",
    "Fit",
    "OffPolicyValue",
    "Trial",
    "compare",
    "draft",
    "fit",
    "off_policy",
]
