"""Estimates from the counters, with their uncertainty; each file has one way to estimate."""
