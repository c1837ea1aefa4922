"""Declares a decision problem: what can be bought, what can be decided, and what it costs."""

from askwise.problem.actions import Action
from askwise.problem.budget import Budget
from askwise.problem.observation import Fails, Observation, Seen, Value
from askwise.problem.panels import Panel
from askwise.problem.problem import Problem

__all__ = ["Action", "Budget", "Fails", "Observation", "Panel", "Problem", "Seen", "Value"]
