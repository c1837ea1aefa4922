"""What can be bought, what can be decided, and what it all costs."""

from askwise.problem.problem import Fails, Observation, Panel, Problem, Seen, Value

__all__ = ["Fails", "Observation", "Panel", "Problem", "Seen", "Value"]
