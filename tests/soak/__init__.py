"""Many processes on one table for a long time; `make soak`."""
