"""Tests of `askwise.service.replanning`."""
