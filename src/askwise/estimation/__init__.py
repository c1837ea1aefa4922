"""What the counters say, and how unsure it is: one file for each way to answer."""
