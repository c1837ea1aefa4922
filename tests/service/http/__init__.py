"""Tests of `askwise.service.http`."""
