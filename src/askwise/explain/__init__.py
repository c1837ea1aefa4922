"""What each observation is worth, and why a policy buys what it buys."""

from askwise.explain.explanation import Explanation, explain
from askwise.explain.price_sensitivity import ObservationWorth
from askwise.explain.worth import Worth, worth

__all__ = ["Explanation", "ObservationWorth", "Worth", "explain", "worth"]
