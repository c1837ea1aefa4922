"""Tests of `askwise._kernels`."""
