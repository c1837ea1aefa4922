"""Tests of `askwise.states`."""
