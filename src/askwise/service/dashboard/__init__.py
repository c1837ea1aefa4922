"""The dashboard: summaries, explanations, and the page itself."""
