"""What the driver does until it is killed: it changes a table without end, and tells a journal before and after.

python -m tests.kills.workload TABLE JOURNAL SEED FIRST_ID
"""

from __future__ import annotations

import itertools
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from pyqbeast import QbeastTable
from pyqbeast.delta_log.reader import read_snapshot
from tests.spark_session import make_session
from tests.table.help import save

ROWS = 60


@dataclass(frozen=True)
class Change:
    """One commit, or of an optimize as many as there are revisions.

    Attributes:
        kind: append, grow, overwrite, delete or optimize.
        number: appended and written rows have the ids from here on; a delete takes those that are it modulo 7.
    """

    kind: str
    number: int = 0

    def rows(self) -> list[tuple[int, float, int, str]]:
        """The rows that it adds, their columns by name. What is in them follows from it and their ids."""
        if self.kind not in ("append", "grow", "overwrite"):
            return []
        # Larger values than before make a new revision, as a rule.
        factor = 2 + self.number // ROWS % 1_000 if self.kind == "grow" else 1
        rows = []
        for each in range(self.number, self.number + ROWS):
            chance = random.Random(each)
            a, b = chance.randrange(1_000_000) * factor, chance.randrange(100_000) / 100
            rows.append((a, b, each, f"name {each % 100}"))
        return rows

    def applied(self, ids: Iterable[int]) -> set[int]:
        """The ids of the rows that are there after it."""
        new = {each for _, _, each, _ in self.rows()}
        if self.kind in ("append", "grow"):
            return {*ids, *new}
        if self.kind == "overwrite":
            return new
        if self.kind == "delete":
            return {each for each in ids if each % 7 != self.number}
        return set(ids)

    def run(self, spark: SparkSession, path: str) -> None:
        """Makes it."""
        if self.kind == "delete":
            QbeastTable.for_path(spark, path).delete(f"id % 7 = {self.number}")
        elif self.kind == "optimize":
            files = [file.path for file in read_snapshot(path).files]
            QbeastTable.for_path(spark, path).optimize(files=files)
        else:
            columns = [*map(list, zip(*self.rows(), strict=True))]
            frame = spark.createDataFrame(pa.table(columns, names=["a", "b", "id", "name"]))
            save(frame, path, "overwrite" if self.kind == "overwrite" else "append", cubeSize=100)


def changes(seed: int, first: int) -> Iterator[Change]:
    """Changes without end; ids are counted from `first`."""
    chance = random.Random(seed)
    while True:
        (kind,) = chance.choices(["append", "delete", "optimize", "grow", "overwrite"], [5, 3, 3, 1, 0.5])
        if kind == "delete":
            yield Change(kind, chance.randrange(7))
        elif kind == "optimize":
            yield Change(kind)
        else:
            yield Change(kind, first)
            first += ROWS


def main(path: str, journal: Path, seed: int, first: int) -> None:
    """Looks at what the one before left, and goes on."""
    parent = os.getppid()
    with tempfile.TemporaryDirectory() as folder, journal.open("a") as out:

        def tell(**what: object) -> None:
            out.write(json.dumps(what) + "\n")
            out.flush()
            os.fsync(out.fileno())

        spark = make_session(Path(folder))
        there = any(Path(path, "_delta_log").glob("[0-9]*.json"))
        if there:
            # Every third time with all rows, which takes longest of all that is done here.
            report = QbeastTable.for_path(spark, path).verify("log" if seed % 3 else "data")
            tell(verified=report.ok, text=str(report))
            found = [row[0] for row in spark.read.format("qbeast").load(path).select("id").collect()]
            tell(read=sorted(found))
        tell(ready=True)
        begin = [] if there else [Change("overwrite", first)]
        for change in itertools.chain(begin, changes(seed, first + len(begin) * ROWS)):
            if os.getppid() != parent:
                return  # whoever was to end this is gone
            tell(begun=asdict(change))
            change.run(spark, path)
            tell(done=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
