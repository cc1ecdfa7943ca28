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
from pyqbeast.verification.log_checks import VerifiedFile

_PARTS = (
    StructType()
    .add("location", "string")
    .add("path", "string")
    .add("number", "integer")
    .add("heaviest", "integer")
    .add("lightest", "integer")
)
#: Of rows that were read from a whole file, in place of the number of a part.
_WHOLE = -1


class _Begun(NamedTuple):
    """A file that can be read, and one of its parts: the first that it tells of is number 0."""

    file: VerifiedFile
    size: int
    number: int
    part: FilePart


def check_parts(
    spark: SparkSession, log: bridge.TableLog, revision: Revision, files: Sequence[VerifiedFile]
) -> list[Problem]:
    """Compares what tags tell of parts with the live rows of files. It reads each file, and what lies before each part.

    Args:
        spark: a lenient session.
        log: the table.
        revision: that of the files. Its rows have the weights today that they were written with.
        files: they can be read, and so can their deletion vectors.
    """
    begun = [
        _Begun(file, file.on_disk.size, number, part)
        for file in files
        if file.on_disk.size is not None and not file.has_broken_vector
        for number, part in enumerate(parse_parts_tag(file.logged.true_tags, file.logged.size) or ())
    ]
    if not begun:
        return []

    def read(number: int, size: Mapping[str, tuple[int, int]]) -> DataFrame:
        stored = live_rows(log, spark, size)
        return stored.select(
            file_location(spark, F.input_file_name()).alias("location"),
            bridge.row_weight(stored, revision.hashed_columns).alias("w"),
            F.lit(number).alias("read"),
        )

    rows = read(_WHOLE, {each.file.path: (each.size, each.file.hidden) for each in begun})
    for number in range(max(each.number for each in begun) + 1):
        beginnings = [each for each in begun if each.number == number]
        rows = rows.unionAll(
            read(number, {each.file.path: (each.part.begin, each.file.hidden) for each in beginnings})
        )
    columns: list[list[object]] = [
        [each.file.location for each in begun],
        [each.file.path for each in begun],
        [each.number for each in begun],
        [each.part.heaviest_before for each in begun],
        [each.part.lightest for each in begun],
    ]
    of_parts = F.broadcast(bridge.local_frame(spark, _PARTS, columns))
    found = bridge.grouped(
        rows.join(of_parts, "location").where(f"read = {_WHOLE} OR read = number"),
        ["path", "number", "heaviest", "lightest"],
        F.expr(f"count_if(read = {_WHOLE} AND w < lightest) AS light"),
        F.expr(f"count_if(read != {_WHOLE} AND w < lightest) AS light_before"),
        F.expr(f"count_if(read != {_WHOLE} AND w > heaviest) AS heavy_before"),
    )
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
