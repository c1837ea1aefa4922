"""Experiments as data: learners × costs × seeds, run wherever joblib runs."""

from askwise.simulation.experiments.results import Cell, Reproduction
from askwise.simulation.experiments.sweep import Job, run_job, run_sweep

__all__ = ["Cell", "Job", "Reproduction", "run_job", "run_sweep"]
