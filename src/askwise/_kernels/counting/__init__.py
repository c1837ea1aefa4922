"""Kernels for what finished cases add to the counters."""
