"""The tables and operations of the model as real ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import pyqbeast
from pyqbeast import QbeastTable, bridge
from pyqbeast.core.format.constants import LAST_REVISION

#: The ids of the model's rows. That of x is the largest: as no writer deletes it, ranges found in rows hold all others.
IDS = {"a": 0, "b": 1, "x": 40, "c": 3, "A's": 10, "B's": 11, "C's": 12}
#: Ranges that hold all rows but those that grow.
_BOUNDS = '{"a_min": 0, "a_max": 1000, "b_min": 0, "b_max": 1000}'
#: How the rows of a writer leave the range: each in a direction of its own, so that no other's new range holds them.
_GROWN = {"A": "a + 5000 as a, b", "B": "a - 5000 as a, b", "C": "a, b + 5000 as b"}


def rows(spark: SparkSession, *names: str, grown_by: str = "") -> DataFrame:
    """Some of the model's rows, in one file."""
    ids = ", ".join(str(IDS[name]) for name in names)
    frame = spark.sql(f"SELECT id, id * 10 as a, id / 2.0D as b FROM (SELECT explode(array({ids})) as id)")
    return frame.selectExpr("id", *(_GROWN[grown_by].split(", ") if grown_by else ("a", "b"))).coalesce(1)


def save(frame: DataFrame, path: str, mode: str = "append", **options: str | None) -> None:
    """Writes rows with an index."""
    given = {"columnsToIndex": "a,b", "cubeSize": "100", "columnStats": _BOUNDS, **options}
    given = {key: value for key, value in given.items() if value is not None}
    frame.write.format("qbeast").mode(mode).options(**given).save(path)


class Tables:
    """The tables to begin with: each is made once and copied for each trace."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder

    def copy(self, kind: str, target: Path) -> None:
        """Puts a table of a kind into a folder that is not there yet."""
        made = self._folder / kind
        if not made.exists():
            getattr(self, f"_make_{kind}")(made)
        shutil.copytree(made, target)

    def _make_indexed(self, path: Path) -> None:
        save(rows(self._spark, "a", "b", "x"), str(path), **{"delta.enableDeletionVectors": "true"})
        save(rows(self._spark, "c"), str(path))

    def _make_plain(self, path: Path) -> None:
        for names in (("a", "b", "x"), ("c",)):
            frame = rows(self._spark, *names).write.format("delta").mode("append")
            frame.option("delta.enableDeletionVectors", "true").save(str(path))

    def _make_legacy(self, path: Path) -> None:
        """The indexed one with the tags that its files would have had before format 0.6."""
        self.copy("indexed", path)
        for log in path.glob("_delta_log/*.json"):
            lines = [json.loads(line) for line in log.read_text().splitlines()]
            for line in lines:
                if "add" in line:
                    line["add"]["tags"] = _legacy_tags(line["add"]["tags"])
            log.write_text("".join(json.dumps(line) + "\n" for line in lines))
        for checksum in path.glob("_delta_log/*.crc"):
            checksum.unlink()
        for checksum in path.glob("_delta_log/.*.crc"):
            checksum.unlink()


def _legacy_tags(tags: dict[str, str]) -> dict[str, str]:
    (block,) = json.loads(tags["blocks"])
    return {
        "revision": tags["revision"],
        "cube": block["cubeId"],
        "minWeight": str(block["minWeight"]),
        "maxWeight": str(block["maxWeight"]),
        "elementCount": str(block["elementCount"]),
        "state": "FLOODED",
    }


def _optimize(spark: SparkSession, path: str) -> None:
    table = QbeastTable.for_path(spark, path)
    latest = table.latest_revision.id
    if latest == 0:
        table.optimize(revision=0)
        return
    files = [
        file.path
        for file in bridge.TableLog(spark, path).files()
        if file.true_tags.get("revision") == str(latest)
    ]
    table.optimize(files=files)


def _delete(spark: SparkSession, path: str, condition: str) -> None:
    """By ours, or by Delta's own command where the table has no index yet."""
    if LAST_REVISION in bridge.TableLog(spark, path).configuration:
        QbeastTable.for_path(spark, path).delete(condition)
    else:
        spark.sql(f"DELETE FROM delta.`{path}` WHERE {condition}")


#: Each operation of the model by its name there: session, path and writer's name. Statistics tell nothing of what the
#: deletes look for, so they depend on all files, as in the model.
CALLS: dict[str, Callable[[SparkSession, str, str], object]] = {
    "append": lambda spark, path, writer: save(rows(spark, f"{writer}'s"), path),
    "append once": lambda spark, path, writer: save(
        rows(spark, f"{writer}'s"), path, txnAppId="once", txnVersion="1"
    ),
    "grow": lambda spark, path, writer: save(
        rows(spark, f"{writer}'s", grown_by=writer), path, columnStats=None
    ),
    "overwrite": lambda spark, path, writer: save(rows(spark, f"{writer}'s"), path, "overwrite"),
    "optimize": lambda spark, path, writer: _optimize(spark, path),
    "delete": lambda spark, path, writer: _delete(spark, path, "id % 1000 = 0"),
    "delete others": lambda spark, path, writer: _delete(spark, path, "id % 1000 in (1, 3)"),
    "restore": lambda spark, path, writer: spark.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF 0"),
    "upgrade": lambda spark, path, writer: pyqbeast.upgrade(spark, path),
    "convert": lambda spark, path, writer: pyqbeast.convert(
        spark, f"delta.`{path}`", columns_to_index=["a", "b"], cube_size=100
    ),
    "plain append": lambda spark, path, writer: (
        rows(spark, f"{writer}'s").write.format("delta").mode("append").save(path)
    ),
}


def is_deltas_alone(table: str, name: str) -> bool:
    """Whether Delta carries an operation out without us: it takes a commit that landed for failed, and leaves files."""
    return name in ("plain append", "update", "merge") or (table, name) == ("plain", "delete")
