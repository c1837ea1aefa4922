"""Tests of `askwise.planning`."""
