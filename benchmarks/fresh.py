"""A sample into Arrow in a process without Spark: `python -m benchmarks.fresh TABLE ours 0.01`.

Prints seconds by the wall clock and of CPU after the imports, and how many times the size of its answer Arrow held at
its peak.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

#: The columns of the sample: one that is indexed, and one that is not.
COLUMNS = ["a", "value"]

Sampler = Callable[[str, float], Any]


def _ours() -> Sampler:
    import pyqbeast

    scan = pyqbeast.scan
    return lambda path, fraction: scan(path).sample(fraction).select(COLUMNS).to_arrow()


def _delta_rs() -> Sampler:
    import numpy as np
    import pyarrow as pa
    from deltalake import DeltaTable

    def sample(path: str, fraction: float) -> Any:  # noqa: ANN401 (a table of pyarrow)
        batches = DeltaTable(path).to_pyarrow_dataset().scanner(columns=COLUMNS).to_reader()
        kept = (batch.filter(pa.array(np.random.random(batch.num_rows) < fraction)) for batch in batches)
        return pa.Table.from_batches(kept)

    return sample


def _duckdb() -> Sampler:
    import duckdb
    from deltalake import DeltaTable

    def sample(path: str, fraction: float) -> Any:  # noqa: ANN401 (a table of pyarrow)
        rows = duckdb.read_parquet(DeltaTable(path).file_uris())
        text = f"SELECT {', '.join(COLUMNS)} FROM rows USING SAMPLE {100 * fraction} PERCENT (bernoulli)"
        sampled: Any = rows.query("rows", text)
        return sampled.to_arrow_table()

    return sample


SAMPLERS = {"ours": _ours, "delta-rs": _delta_rs, "DuckDB": _duckdb}


def main() -> None:
    """Takes one sample of one table."""
    path, name, fraction = sys.argv[1:]
    sample = SAMPLERS[name]()
    import pyarrow as pa

    wall, cpu = time.perf_counter(), time.process_time()
    rows = sample(path, float(fraction))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(wall, cpu, pa.default_memory_pool().max_memory() / rows.nbytes)


if __name__ == "__main__":
    main()
