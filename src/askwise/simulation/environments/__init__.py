"""Environments, from which cases are drawn. A run computes gains; an environment does not."""

from askwise.simulation.environments.base import CHUNK, Draws, Environment, StakedDraws, stream
from askwise.simulation.environments.breast_cancer import breast_cancer
from askwise.simulation.environments.population import Population
from askwise.simulation.environments.random_models import model_at_random, random_model
from askwise.simulation.environments.staked import Staked
from askwise.simulation.environments.table import Table
from askwise.simulation.environments.wisconsin import wisconsin

__all__ = [
    "CHUNK",
    "Draws",
    "Environment",
    "Population",
    "Staked",
    "StakedDraws",
    "Table",
    "breast_cancer",
    "model_at_random",
    "random_model",
    "stream",
    "wisconsin",
]
