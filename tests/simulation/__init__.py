"""Tests of `askwise.simulation`."""
