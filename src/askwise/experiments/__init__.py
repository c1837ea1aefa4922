"""Sweeps as data: learners × costs × seeds, run anywhere joblib runs."""

from askwise.experiments.reproduce import reproduce
from askwise.experiments.results import Cell, Reproduction
from askwise.experiments.sweep import Job, run_job, run_sweep

__all__ = ["Cell", "Job", "Reproduction", "reproduce", "run_job", "run_sweep"]
