"""Memory of the driver while it writes tables of 1, 10 and 30 million rows: `python -m benchmarks.memory`.

It is bounded by the sample, not by the table. The heap holds the executor's shuffle and sort as well, as both are
one process here; what grows with the table would show.
"""

from __future__ import annotations

import shutil
import tempfile

from benchmarks import measure
from benchmarks.indexed_table import COLUMNS


def main() -> None:
    spark = measure.session("4g")
    with tempfile.TemporaryDirectory() as folder:
        for rows in (1_000_000, 10_000_000, 30_000_000):
            measure.reset_heap(spark)
            frame = spark.range(rows).selectExpr(*COLUMNS)
            options = {"columnsToIndex": "x,y", "cubeSize": "500000"}
            frame.write.format("qbeast").options(**options).save(f"{folder}/{rows}")
            heap, python = measure.peak_heap_megabytes(spark), measure.peak_python_megabytes()
            print(f"{rows:>12,} rows: peak heap {heap:,.0f} MB, peak of the Python process {python:,.0f} MB")
            shutil.rmtree(f"{folder}/{rows}")
    spark.stop()


if __name__ == "__main__":
    main()
