"""Tests of `askwise.integrations`."""
