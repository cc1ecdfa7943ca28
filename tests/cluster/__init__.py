"""A Spark cluster on this machine, and what has to hold on it."""
