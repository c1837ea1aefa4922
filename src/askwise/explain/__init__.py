"""What each observation is worth, and why a policy buys what it buys."""

from askwise.explain.explanation import Explanation, explain
from askwise.explain.observation_worth import ObservationWorth
from askwise.explain.worth import Worth, still_to_learn, worth
from askwise.policy.scores import Estimate

__all__ = [
    "Estimate",
    "Explanation",
    "ObservationWorth",
    "Worth",
    "explain",
    "still_to_learn",
    "worth",
]
