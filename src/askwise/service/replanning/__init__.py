"""From counters to the next version of a policy: by whom, when, and where versions are kept."""
