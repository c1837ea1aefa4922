"""Tests of `askwise.service`."""
