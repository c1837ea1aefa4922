"""These kernels add finished cases to the counters."""
