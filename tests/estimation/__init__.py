"""Tests of `askwise.estimation`."""
