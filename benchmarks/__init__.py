"""Measurements beside the peers: one module a workload, one frame that runs them in turn, results kept as JSON."""
