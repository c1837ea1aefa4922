"""What people look at: summaries, explanations, and the page itself."""
