"""Kernels for what a case does under a policy that explores."""
