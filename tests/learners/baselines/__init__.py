"""Comparators against small independent versions of their papers' rules, on decisions."""
