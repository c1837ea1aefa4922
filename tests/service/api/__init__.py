"""Tests of `askwise.service.api`."""
