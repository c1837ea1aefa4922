"""Tests of `askwise.explain`."""
