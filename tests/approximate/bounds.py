"""Bounds of estimates beside the truth, and what the truth costs."""

from __future__ import annotations

from tests.table.help import log_entries

#: The confidence where many bounds are compared with the truth.
SURE = 0.999


def answers(query, keys=()):
    """Rows of a query by group."""
    return {tuple(row[key] for key in keys): row.asDict() for row in query.collect()}


def assert_holds(estimate, query, keys=()):
    """Every bound of the estimate holds the truth; returns the number of bounds."""
    truth, found = answers(query, keys), answers(estimate.df, keys)
    assert set(found) == set(truth)
    bounds = 0
    for group, row in truth.items():
        for name in set(row) - set(keys):
            shown = found[group]
            low, high = shown[f"{name}_low"], shown[f"{name}_high"]
            # An exact answer that was added up may be off in the last digits.
            if isinstance(row[name], float):
                rounding = max(1, abs(row[name])) * 1e-12
                low, high = low - rounding, high + rounding
            assert low <= row[name] <= high, (group, name, row, shown)
            bounds += 1
    return bounds


def bytes_of(path):
    """The bytes of a table's files: what a query in full opens that leaves out none."""
    return sum(entry["size"] for entry in log_entries(path, "add"))
