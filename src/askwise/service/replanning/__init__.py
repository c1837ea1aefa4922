"""Makes new versions of policies from the counters, and keeps versions in memory."""
