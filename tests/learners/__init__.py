"""Tests of `askwise.learners`."""
