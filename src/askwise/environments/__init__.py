"""Where cases come from. None keeps a score: that is the run's."""

from askwise.environments.base import CHUNK, Draws, Environment, stream
from askwise.environments.breast_cancer import breast_cancer
from askwise.environments.population import Population
from askwise.environments.random_models import model_at_random, random_model
from askwise.environments.table import Table
from askwise.environments.wisconsin import wisconsin

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
