"""Tests of `askwise.policy`."""
