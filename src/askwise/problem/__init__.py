"""What can be bought, what can be decided, and what it all costs."""

from askwise.problem.actions import Action
from askwise.problem.problem import Fails, Observation, Panel, Problem, Seen, Value

__all__ = ["Action", "Fails", "Observation", "Panel", "Problem", "Seen", "Value"]
