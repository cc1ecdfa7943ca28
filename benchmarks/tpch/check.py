"""All 22 answers of an indexed database equal plain Delta's: `make tpch`."""

from __future__ import annotations

import argparse
import tempfile
from decimal import Decimal
from pathlib import Path

from pyspark.sql import Row

from benchmarks.lab import OURS, PLAIN, Lab
from benchmarks.tpch import Database, queries

#: Of doubles, whose sums depend on the order of the rows. Decimals are exact.
_DIGITS = 9


def main() -> None:
    """Asks both, prints a line a query, and fails where one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    scale = parser.parse_args().scale
    different = []
    with tempfile.TemporaryDirectory(prefix="tpch-") as folder:
        database = Database(Lab(Path(folder), 0, 0, 0, 0, 0, scale))
        answers = {}
        for peer in (PLAIN, OURS):
            database.use(peer)
            answers[peer] = {name: database.answer(query) for name, query in queries(scale).items()}
        for name, expected in answers[PLAIN].items():
            is_equal = _comparable(answers[OURS][name]) == _comparable(expected)
            print(f"{name}: {len(expected)} rows, {'equal' if is_equal else 'DIFFERENT'}")
            if not is_equal:
                different.append(name)
    if different:
        raise SystemExit(f"{len(different)} of {len(answers[PLAIN])} answers differ: {', '.join(different)}")
    print(f"{len(answers[PLAIN])} answers are equal")


def _comparable(rows: list[Row]) -> list[tuple[object, ...]]:
    return [tuple(_rounded(value) for value in row) for row in rows]


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    return value.normalize() if isinstance(value, Decimal) else value


if __name__ == "__main__":
    main()
