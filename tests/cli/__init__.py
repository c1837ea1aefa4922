"""Tests of `askwise.cli`."""
