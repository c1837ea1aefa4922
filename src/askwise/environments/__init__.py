"""Where cases come from. None keeps a score: that is the run's."""

from askwise.environments.base import CHUNK, Draws, Environment, stream
from askwise.environments.breast_cancer import breast_cancer
from askwise.environments.population import Population

__all__ = ["CHUNK", "Draws", "Environment", "Population", "breast_cancer", "stream"]
