"""Sweeps as data: learners × costs × seeds, run anywhere joblib runs."""
