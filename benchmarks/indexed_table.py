"""An indexed table against a plain Delta table of the same rows: `python -m benchmarks.indexed_table [--rows N]`.

Prints a table of ratios with the goal of each and writes it as JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

from benchmarks import measure
from pyqbeast import QbeastTable, bridge

COLUMNS = (
    "id",
    "rand(1) * 1000000 as x",
    "cast(pmod(xxhash64(id, 7L), 1000000L) as int) as y",
    "xxhash64(id, 1L) as key",
    "xxhash64(id, 2L) as other",
    "pmod(xxhash64(id, 3L), 1000L) as small",
    "cast(rand(2) * 100 as float) as value",
    "concat('user_', pmod(xxhash64(id, 9L), 100000L)) as name",
)
BOXES = 20


@dataclass
class Result:
    what: str
    goal: str
    measured: float
    note: str = ""


class Bench:
    """The tables of one run, and what is measured on them."""

    def __init__(self, spark: SparkSession, folder: Path, rows: int, cube_size: int) -> None:
        self.spark = spark
        self.rows = rows
        self.cube_size = cube_size
        self.source = str(folder / "source")
        self.plain = str(folder / "plain")
        self.indexed = str(folder / f"indexed-{cube_size}")
        self.ordered = str(folder / f"ordered-{cube_size}")
        if not Path(self.source).exists():
            spark.range(rows).selectExpr(*COLUMNS).write.parquet(self.source)

    def frame(self, path: str, kind: str = "delta") -> DataFrame:
        return self.spark.read.format(kind).load(path)

    def write(self, runs: int) -> Iterator[Result]:
        source = self.spark.read.parquet(self.source)

        def plain() -> None:
            shutil.rmtree(self.plain, ignore_errors=True)
            source.write.format("delta").save(self.plain)

        def indexed() -> None:
            shutil.rmtree(self.indexed, ignore_errors=True)
            options = {"columnsToIndex": "x,y", "cubeSize": str(self.cube_size)}
            source.write.format("qbeast").options(**options).save(self.indexed)

        a, b = measure.in_turn(runs, indexed, plain)
        yield Result("write", "≤ 1.6 × plain", measure.ratio(a, b), f"{min(a):.1f} s and {min(b):.1f} s")
        sizes = [measure.data_bytes(path) for path in (self.indexed, self.plain)]
        yield Result(
            "table size", "≤ 1.05 × plain", sizes[0] / sizes[1], f"{sizes[0] / self.rows:.1f} B a row"
        )

    def sample(self, runs: int) -> Iterator[Result]:
        every = [F.sum(F.hash(name)) for name in self.frame(self.plain).columns]
        for what, goal, columns in (
            ("1 % sample, all columns", "≥ 6 × faster", every),
            ("1 % sample, two columns", "≥ 2.5 × faster", [F.avg("x"), F.avg("y")]),
        ):
            asked = [
                lambda path=path, kind=kind, columns=columns: (
                    self.frame(path, kind).sample(fraction=0.01).agg(*columns).collect()
                )
                for path, kind in ((self.plain, "delta"), (self.indexed, "qbeast"))
            ]
            a, b = measure.in_turn(runs, *asked)
            yield Result(what, goal, measure.ratio(a, b), f"{min(a):.2f} s and {min(b):.2f} s")

    def bytes_of_samples(self) -> Iterator[Result]:
        whole = measure.data_bytes(self.indexed)
        files = len(self.frame(self.indexed, "qbeast").inputFiles())
        for fraction in (0.001, 0.01, 0.03, 0.1, 0.3):
            query = self.frame(self.indexed, "qbeast").sample(fraction=fraction).agg(F.sum("small"))
            query.collect()
            opened = bridge.scan_totals(query)
            share = opened.bytes / whole
            goal = f"≤ {1.5 * fraction + self.cube_size / self.rows:.4f} (1.5 × {fraction:g} and a cube)"
            yield Result(f"bytes of a {fraction:.1%} sample", goal, share, f"{opened.files} of {files} files")

    def scan(self, runs: int) -> Iterator[Result]:
        every = [F.sum(F.hash(name)) for name in self.frame(self.plain).columns]
        indexed, plain = (
            lambda path=path, kind=kind: self.frame(path, kind).agg(*every).collect()
            for path, kind in ((self.indexed, "qbeast"), (self.plain, "delta"))
        )
        a, b = measure.in_turn(runs, indexed, plain)
        yield Result("full scan", "≤ 1.05 × plain", measure.ratio(a, b), f"{min(a):.2f} s and {min(b):.2f} s")

    def boxes(self) -> Iterator[Result]:
        files = len(self.frame(self.indexed, "qbeast").inputFiles())
        target = measure.data_bytes(self.indexed) // files
        shutil.rmtree(self.ordered, ignore_errors=True)
        shutil.copytree(self.plain, self.ordered)
        self.spark.conf.set("spark.databricks.delta.optimize.maxFileSize", str(target))
        self.spark.sql(f"OPTIMIZE delta.`{self.ordered}` ZORDER BY (x, y)")
        draw = random.Random(7)
        totals = [[0, 0], [0, 0]]
        for _ in range(BOXES):
            x, y = draw.randrange(850_000), draw.randrange(850_000)
            box = f"x BETWEEN {x} AND {x + 150_000} AND y BETWEEN {y} AND {y + 150_000}"
            for total, path in zip(totals, (self.indexed, self.ordered), strict=True):
                query = self.frame(path).filter(box).agg(F.sum("small"))
                query.collect()
                opened = bridge.scan_totals(query)
                total[0] += opened.rows
                total[1] += opened.files
        ordered = len(self.frame(self.ordered).inputFiles())
        note = f"{totals[0][0] // BOXES:,} and {totals[1][0] // BOXES:,} rows, {files} and {ordered} files"
        yield Result("rows scanned by boxes", "≤ 0.8 × Z-ordered", totals[0][0] / totals[1][0], note)

    def check(self) -> Iterator[Result]:
        sampled = self.frame(self.indexed, "qbeast").sample(fraction=0.01).count()
        wanted = self.frame(self.plain).filter("hash(x, y) < -2104533975").count()
        metrics = QbeastTable.for_path(self.spark, self.indexed).metrics()
        yield Result("rows of a 1 % sample", "= plain's by hash", sampled / wanted, f"{sampled:,} rows")
        yield Result("files", "", metrics.file_count, f"{metrics.cube_count} cubes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--cube-sizes", type=int, nargs="+", default=[500_000, 100_000])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path, default=Path("build/indexed_table.json"))
    given = parser.parse_args()
    spark = measure.session()
    results: list[dict[str, object]] = []
    table = Table("cube size", "what", "goal", "measured", "")
    with tempfile.TemporaryDirectory() as folder:
        for cube_size in given.cube_sizes:
            bench = Bench(spark, Path(folder), given.rows, cube_size)
            parts = (
                bench.write(given.runs), bench.check(), bench.sample(2 * given.runs), bench.bytes_of_samples(),
                bench.boxes(), bench.scan(given.runs),
            )  # fmt: skip
            for part in parts:
                for result in part:
                    results.append({"rows": given.rows, "cube_size": cube_size, **asdict(result)})
                    table.add_row(
                        f"{cube_size:,}", result.what, result.goal, f"{result.measured:.4g}", result.note
                    )
    Console().print(table)
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(results, indent=1) + "\n")
    spark.stop()


if __name__ == "__main__":
    main()
