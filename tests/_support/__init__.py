"""Tests of `askwise._support`."""
