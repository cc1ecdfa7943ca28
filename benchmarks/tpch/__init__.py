"""TPC-H: the 22 queries of the public specification with its validation parameters, and the tables they ask."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pyspark.sql import DataFrame, Row

from benchmarks.lab import LIQUID, OURS, Z_ORDER, Lab

#: For each table the keys and dates that it is indexed by.
TABLES = {
    "lineitem": ("l_shipdate", "l_orderkey", "l_partkey"),
    "orders": ("o_orderdate", "o_orderkey", "o_custkey"),
    "customer": ("c_custkey", "c_nationkey"),
    "part": ("p_partkey", "p_size"),
    "partsupp": ("ps_partkey", "ps_suppkey"),
    "supplier": ("s_suppkey", "s_nationkey"),
    "nation": ("n_nationkey", "n_regionkey"),
    "region": ("r_regionkey",),
}
#: Rows a cube of ours. The peers' files get the mean size of ours.
CUBE_SIZE = 1_000_000
_QUERIES = Path(__file__).parent


def queries(scale: float) -> dict[str, str]:
    """The text of each query, for tables of a scale factor."""
    return {
        path.stem: path.read_text().replace("{scale}", f"{scale:g}")
        for path in sorted(_QUERIES.glob("q*.sql"))
    }


class Database:
    """The eight tables of each peer, made when they are asked for first."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self._made: set[Path] = set()

    def use(self, peer: str) -> None:
        """Lets queries name the tables of a peer."""
        for table in TABLES:
            path = self._table(peer, table)
            self.lab.read(peer, str(path)).createOrReplaceTempView(table)

    def answer(self, query: str) -> list[Row]:
        """The answer of the tables that are in use."""
        return self.lab.spark.sql(query).collect()

    def _table(self, peer: str, table: str) -> Path:
        path = self.lab.folder / f"tpch-{peer}-{table}"
        if path not in self._made:
            if peer in (Z_ORDER, LIQUID):
                self.lab.aim_at_files_of(str(self._table(OURS, table)))
            self.lab.write(peer, self._source(table), str(path), TABLES[table], CUBE_SIZE)
            self._made.add(path)
        return path

    def _source(self, table: str) -> DataFrame:
        folder = self.lab.folder / "tpch-source"
        if not folder.exists():
            generate(self.lab.scale, folder)
        return self.lab.spark.read.parquet(str(folder / f"{table}.parquet"))


def generate(scale: float, folder: Path) -> None:
    """Makes the rows of all tables as Parquet files."""
    command = ["tpchgen-cli", "parquet", "-s", f"{scale:g}", "--field-ids=false", f"--output-dir={folder}"]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        raise SystemExit("tpchgen-cli makes the rows of TPC-H; run `make tpch`, which brings it") from None
