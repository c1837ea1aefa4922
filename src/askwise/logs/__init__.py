"""Logs in: what can be learned from what happened before, without bias."""

from askwise.logs.drafting import Draft, draft
from askwise.logs.fitting import Fit, fit

__all__ = ["Draft", "Fit", "draft", "fit"]
