"""What can be bought, what can be decided, and what it all costs."""

from askwise.problem.actions import Action
from askwise.problem.budget import Budget
from askwise.problem.panels import Panel
from askwise.problem.problem import Fails, Observation, Problem, Seen, Value

__all__ = ["Action", "Budget", "Fails", "Observation", "Panel", "Problem", "Seen", "Value"]
