"""Kernels for walking the lattice, finding rows, adding prices."""
