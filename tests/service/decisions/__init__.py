"""Tests of `askwise.service.decisions`."""
