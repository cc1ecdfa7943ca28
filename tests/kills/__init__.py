"""The driver is killed at random points of a mixed workload, and no commit is lost, doubled or half there."""
