"""Tests of `askwise.counting`."""
