"""Tests of `askwise.service.ledger`."""
