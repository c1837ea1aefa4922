"""Tests of `askwise.problem`."""
