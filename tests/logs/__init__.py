"""Tests of `askwise.logs`."""
