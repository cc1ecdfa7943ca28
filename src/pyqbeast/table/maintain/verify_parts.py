"""Whether a sample that reads the beginning of a file finds there all rows that it has to, and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pyqbeast import bridge
from pyqbeast.bridge.file_contents import file_location, live_rows
from pyqbeast.core.format.constants import TAG_PARTS
from pyqbeast.core.format.file_parts import FilePart, parse_parts_tag
from pyqbeast.core.problems import PARTS, Problem
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.table.coordinates import weight
from pyqbeast.verification.log_checks import VerifiedFile

_PARTS = (
    StructType()
    .add("location", "string")
    .add("path", "string")
    .add("heaviest", "integer")
    .add("lightest", "integer")
)


class _Begun(NamedTuple):
    """A file that can be read, and one of its parts."""

    file: VerifiedFile
    size: int
    part: FilePart


def check_parts(
    spark: SparkSession, log: bridge.TableLog, revision: Revision, files: Sequence[VerifiedFile]
) -> list[Problem]:
    """Compares what tags tell of parts with the live rows of files. Two Spark jobs for each part that a file may have.

    Args:
        spark: a lenient session.
        log: the table.
        revision: that of the files. Its rows have the weights today that they were written with.
        files: they can be read, and so can their deletion vectors.
    """
    problems = []
    begun = [
        [
            _Begun(file, file.on_disk.size, part)
            for part in parse_parts_tag(file.logged.tags, file.logged.size) or ()
        ]
        for file in files
        if file.on_disk.size is not None and not file.has_broken_vector
    ]
    for number in range(max(map(len, begun), default=0)):
        problems += _check(spark, log, revision, [parts[number] for parts in begun if number < len(parts)])
    return problems


def _check(
    spark: SparkSession, log: bridge.TableLog, revision: Revision, begun: Sequence[_Begun]
) -> list[Problem]:
    columns: list[list[object]] = [
        [each.file.location for each in begun],
        [each.file.path for each in begun],
        [each.part.heaviest_before for each in begun],
        [each.part.lightest for each in begun],
    ]
    of_parts = F.broadcast(bridge.local_frame(spark, _PARTS, columns))

    def seen(size: Mapping[str, tuple[int, int]], suffix: str) -> DataFrame:
        rows = live_rows(log, spark, size).select(
            file_location(spark, F.input_file_name()).alias("location"),
            weight(spark, revision.hashed_columns).alias("w"),
        )
        figures = "count_if(w > heaviest) AS heavy", "count_if(w < lightest) AS light"
        counted = (F.expr(figure + suffix) for figure in figures)
        return rows.join(of_parts, "location").groupBy("location").agg(*counted)

    whole = seen({each.file.path: (each.size, each.file.hidden) for each in begun}, "")
    beginning = seen({each.file.path: (each.part.begin, each.file.hidden) for each in begun}, "_before")
    found = of_parts.join(whole, "location").join(beginning, "location", "left").na.fill(0)
    return [
        Problem(
            PARTS,
            row["path"],
            "",
            f"by the tag {TAG_PARTS} all {row['light']} rows that are lighter than {row['lightest']} and none that is "
            f"heavier than {row['heaviest']} lie before a part begins; {row['light_before']} and "
            f"{row['heavy_before']} do",
        )
        for row in found.where("light != light_before OR heavy_before > 0").collect()
    ]
