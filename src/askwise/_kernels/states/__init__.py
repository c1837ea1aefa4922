"""These kernels find states and rows, and add up prices."""
