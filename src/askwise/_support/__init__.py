"""Helpers for every package: documents, frames, HTML, numbers, generators, types."""
