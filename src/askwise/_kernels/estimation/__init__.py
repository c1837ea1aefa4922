"""Kernels for the models of rewards and populations."""
