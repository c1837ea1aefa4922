"""Kernels for many cases decided and counted in one loop."""
