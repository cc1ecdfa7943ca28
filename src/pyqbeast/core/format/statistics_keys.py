"""The names in Delta's statistics of a file."""

from __future__ import annotations

NUM_RECORDS, TIGHT_BOUNDS = "numRecords", "tightBounds"
MIN_VALUES, MAX_VALUES, NULL_COUNT = "minValues", "maxValues", "nullCount"
