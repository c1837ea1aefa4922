"""Tests of `askwise.service.backend`."""
