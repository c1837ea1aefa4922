"""These kernels plan over the lattice, in full or by updating a plan."""
