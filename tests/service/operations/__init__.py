"""Tests of `askwise.service.operations`."""
