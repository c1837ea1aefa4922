"""From counters to the next version of a policy."""
