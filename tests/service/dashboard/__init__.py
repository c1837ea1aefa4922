"""Tests of `askwise.service.dashboard`."""
