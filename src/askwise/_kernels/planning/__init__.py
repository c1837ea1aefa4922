"""Kernels for plans over the lattice, in full or kept up to date."""
