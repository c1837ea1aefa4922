"""Many cases: environments that draw them, runs that decide them, experiments over both."""

from askwise.simulation.simulate import Run, simulate

__all__ = ["Run", "simulate"]
