"""Tests of `askwise.service.client`."""
