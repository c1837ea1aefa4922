"""These kernels decide and count many cases in one loop."""
