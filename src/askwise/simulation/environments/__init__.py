"""Where cases come from. None keeps a score: that is the run's."""

from askwise.simulation.environments.base import CHUNK, Draws, Environment, stream
from askwise.simulation.environments.breast_cancer import breast_cancer
from askwise.simulation.environments.population import Population
from askwise.simulation.environments.random_models import model_at_random, random_model
from askwise.simulation.environments.table import Table
from askwise.simulation.environments.wisconsin import wisconsin

__all__ = [
    "CHUNK",
    "Draws",
    "Environment",
    "Population",
    "Table",
    "breast_cancer",
    "model_at_random",
    "random_model",
    "stream",
    "wisconsin",
]
