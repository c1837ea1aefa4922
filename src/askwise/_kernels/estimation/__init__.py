"""These kernels fit the models of rewards and populations."""
