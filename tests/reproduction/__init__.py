"""Tests of `askwise.reproduction`."""
