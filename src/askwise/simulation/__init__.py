"""Simulation: environments that draw cases, runs that decide them, and experiments over both."""

from askwise.simulation.simulate import Run, simulate

__all__ = ["Run", "simulate"]
