"""What `verify` does with the files themselves: reads them on Spark, and compares them with what the log says.

A file that cannot be read is one finding. The others are checked as if it were not there.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pyqbeast import bridge
from pyqbeast.bridge.file_contents import (
    file_location,
    lenient_session,
    rows_of_footers,
    vector_contents,
)
from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import STAGING_REVISION
from pyqbeast.core.format.file_tags import indexed_files, is_copy, parse_tags
from pyqbeast.core.format.stored_text import read_json
from pyqbeast.core.format.types import DATE, TIMESTAMP, type_when_indexed
from pyqbeast.core.otree.invariants import (
    blocks_of_rows,
    check_columns,
    check_counts,
    check_rows,
    check_weights,
)
from pyqbeast.core.problems import (
    OF_STATISTICS,
    READABLE,
    ROW_COUNT,
    STATISTICS_TEXT,
    VECTOR,
    VECTOR_ROWS,
    Problem,
)
from pyqbeast.core.revisions.revision import Revision, RevisionSet
from pyqbeast.deletion_vectors import file_checks
from pyqbeast.delta_log.file_checks import bounded_columns
from pyqbeast.table.coordinates import coordinates, quoted
from pyqbeast.table.maintain.verify_parts import check_parts
from pyqbeast.table.maintain.verify_statistics import FileToRead, check_statistics, right_statistics
from pyqbeast.verification.log_checks import VerifiedFile

_log = logging.getLogger(__name__)

#: Since 1900, in milliseconds, Java's older classes of time, which the Scala project uses, count as Spark does. Before,
#: they have the Julian calendar and other offsets of time zones.
_ONE_CALENDAR = -2_208_988_800_000

_REPORT = "rule string, file string, cube string, text string, truth string"
_LOGGED = StructType().add("location", "string").add("path", "string").add("tags", "string")


@dataclass(frozen=True)
class Contents:
    """What was found in files.

    Attributes:
        problems: what the log says wrongly of them.
        files: how many could be read.
        rows: how many are stored in these.
        statistics: the right ones, by path, of files whose own are wrong, where somebody wants them.
        compared: the files whose tags were compared with their rows, by path; those without an index too.
        notes: what could not be looked at.
    """

    problems: list[Problem]
    files: int
    rows: int
    statistics: Mapping[str, str]
    compared: Set[str] = frozenset()
    notes: Sequence[str] = ()


def check_contents(
    spark: SparkSession,
    log: bridge.TableLog,
    stored: RevisionSet,
    files: Sequence[VerifiedFile],
    *,
    wants_statistics: bool,
) -> Contents:
    """Looks at every row of these files, those that deletion vectors hide too.

    Where the right statistics are wanted, live rows of files whose own are wrong are read once more.
    """
    # A file that is in the log under two paths has a problem of its own.
    files = list({file.location: file for file in files if file.on_disk.size is not None}.values())
    if not files:
        return Contents([], 0, 0, {})
    reading = lenient_session(spark)
    _log.info("%s: reading the footers and deletion vectors of %d files", log.path, len(files))
    rows, problems = _rows_of_footers(log, files)
    files = [file for file in files if file.location in rows]
    files, of_vectors = _check_vectors(spark, log, files, rows)
    problems += of_vectors
    _log.info("%s: comparing the statistics of %d files with their rows", log.path, len(files))
    to_read, told = _to_read(files, rows)
    of_statistics, live_counts = check_statistics(reading, log, to_read, told)
    for file in files:
        in_file, live = rows[file.location], live_counts.get(file.path)
        if file.logged.rows is not None and file.logged.rows != in_file:
            text = f"it has {in_file} rows, its statistics say {file.logged.rows}"
            problems.append(Problem(ROW_COUNT, file.path, "", text))
        if live is not None and live + file.hidden < in_file:
            text = f"only {live} of its {in_file - file.hidden} rows can be read: its data is damaged"
            problems.append(Problem(READABLE, file.path, "", text))
    damaged = {problem.file for problem in problems if problem.rule == READABLE}
    problems += [problem for problem in of_statistics if problem.file not in damaged]
    whole = [file for file in files if file.path not in damaged]
    statistics: dict[str, str] = {}
    if wants_statistics:
        seen = [*problems, *(problem for file in files for problem in file.problems)]
        wrong = {problem.file for problem in seen if problem.rule in OF_STATISTICS} - damaged
        again = [file for file in to_read if file.path in wrong]
        _log.info("%s: computing the statistics of %d files", log.path, len(again))
        statistics = right_statistics(reading, log, again, live_counts)
    prunable, columns = log.prunable_revisions, log.schema.fieldNames()
    notes: list[str] = []
    compared = {f.path for f in whole if f.tags.revision_id == STAGING_REVISION or is_copy(f.tags.blocks)}
    indexed = indexed_files(f for f in whole if not is_copy(f.tags.blocks))
    for number, of_revision in indexed.items():
        if not check_columns(stored.get(number), columns):
            _log.info("%s: comparing the tags of %d files with their rows", log.path, len(of_revision))
            elsewhere = [f"revision {number}: {why}" for why in _placed_otherwise(spark, stored.get(number))]
            notes += elsewhere
            try:
                found = _check_rows(reading, log, stored.get(number), of_revision, are_placed=not elsewhere)
            except FormatError as error:
                notes.append(f"revision {number}: its rows are not compared with their tags: {error}")
            else:
                problems += found or ()
                compared |= {f.path for f in of_revision if found is not None and not elsewhere}
            if number in prunable:
                problems += check_parts(reading, log, stored.get(number), of_revision)
    stored_rows = sum(rows[file.location] for file in whole)
    return Contents(problems, len(whole), stored_rows, statistics, compared, notes)


def _placed_otherwise(spark: SparkSession, revision: Revision) -> Iterator[str]:
    """Why rows of a revision have other coordinates here than where they were written, for each such column."""
    for transformer, transformation in zip(revision.transformers, revision.transformations, strict=True):
        column, borders = transformer.column, transformation.borders()
        if transformer.data_type == DATE and not all(bridge.is_midnight(spark, each) for each in borders):
            yield (
                f"its dates of {column!r} are midnights of another time zone than that of this JVM, where nobody knows "
                "in which cubes its rows lie; verify it from the zone in which it was written"
            )
        # Every revision of pyqbeast says as what its columns are hashed.
        is_foreign = revision.hashed_as is None
        if transformer.data_type == TIMESTAMP and is_foreign and min(borders, default=0) < _ONE_CALENDAR:
            yield (
                f"its timestamps of {column!r} begin before 1900, and another program has placed them, by another "
                "calendar: in which cubes its rows lie is not compared"
            )


def _to_read(
    files: Sequence[VerifiedFile], rows: Mapping[str, int]
) -> tuple[list[FileToRead], set[tuple[str, ...]]]:
    """The files whose live rows can be read, and the columns whose bounds some of their statistics tell."""
    columns: set[tuple[str, ...]] = set()
    to_read = []
    for file in files:
        if file.has_broken_vector:
            continue
        rules = {problem.rule for problem in file.problems}
        logged, in_file = file.logged, rows[file.location]
        if STATISTICS_TEXT not in rules:
            columns |= bounded_columns(logged.statistics)
        assert file.on_disk.size is not None
        to_read.append(
            FileToRead(
                file.path,
                file.location,
                file.on_disk.size,
                in_file,
                file.hidden,
                logged.statistics,
            )
        )
    return to_read, columns


def _rows_of_footers(
    log: bridge.TableLog, files: Sequence[VerifiedFile]
) -> tuple[dict[str, int], list[Problem]]:
    """The rows of each file by its footer, by location; and the files that have none that can be read."""
    found = rows_of_footers(log, [file.location for file in files])
    problems = [
        Problem(READABLE, file.path, "", f"it cannot be read: {found[file.location]}")
        for file in files
        if isinstance(found[file.location], str)
    ]
    return {location: rows for location, rows in found.items() if isinstance(rows, int)}, problems


def _check_vectors(
    spark: SparkSession, log: bridge.TableLog, files: Sequence[VerifiedFile], rows: Mapping[str, int]
) -> tuple[list[VerifiedFile], list[Problem]]:
    """Reads the vectors that lie in files. Returns the files with what their vectors really count, and problems."""
    contents = _read_vectors(spark, log, files)
    problems: list[Problem] = []
    seen = []
    for file in files:
        found: list[Problem] = []
        vector = file.vector
        if vector is not None and file.path in contents:
            count, last, problem = contents[file.path]
            if problem:
                found = [Problem(VECTOR, file.path, "", f"its deletion vector cannot be read: {problem}")]
            else:
                found = file_checks.check_contents(file.path, vector, count, last, rows[file.location])
                vector = dataclasses.replace(vector, cardinality=count, max_row_index=None)
        elif vector is not None and not file.has_broken_vector:
            found = file_checks.check_inline(file.path, vector, rows[file.location])
            counted = [int(problem.truth) for problem in found if problem.rule == VECTOR_ROWS]
            if counted:
                vector = dataclasses.replace(vector, cardinality=counted[0], max_row_index=None)
        problems += found
        seen.append(file._replace(vector=vector, problems=(*file.problems, *found)))
    return seen, problems


def _read_vectors(
    spark: SparkSession, log: bridge.TableLog, files: Sequence[VerifiedFile]
) -> dict[str, tuple[int, int | None, str | None]]:
    asked = [
        (file.path, file.on_disk.vector, file.vector.offset or 0, file.vector.size_in_bytes)
        for file in files
        if file.vector and file.vector.is_on_disk and not file.has_broken_vector
    ]
    if not asked:
        return {}
    schema = (
        StructType()
        .add("path", "string")
        .add("location", "string")
        .add("offset", "integer")
        .add("size", "integer")
    )
    frame = bridge.local_frame(spark, schema, [list(column) for column in zip(*asked, strict=True)])
    parts = min(len(asked), spark.sparkContext.defaultParallelism)
    contents = vector_contents(log, F.col("location"), F.col("offset"), F.col("size"))
    read = frame.repartition(parts).select("path", contents.alias("of")).select("path", "of.*").collect()
    return {row["path"]: (row["rows"], row["last"], row["problem"]) for row in read}


def _check_rows(
    spark: SparkSession,
    log: bridge.TableLog,
    revision: Revision,
    files: Sequence[VerifiedFile],
    *,
    are_placed: bool,
) -> list[Problem] | None:
    """Compares the tags of a revision's files with their rows. One Spark job.

    Of rows that are not placed here as they were when they were written, only weights and counts are compared.

    Returns:
        the problems; None where nobody knows what the rows were hashed from.
    """
    paths = [file.path for file in files]
    rows = log.stored_rows(spark, paths, revision.hashed_columns, revision.hashed_as)
    types = bridge.simple_types(rows)
    indexed = {t.column: type_when_indexed(types[t.column], str(t.data_type)) for t in revision.transformers}
    untold = [column for column in types if indexed.get(column) in (None, types[column])]
    if _types_are_lost(log, revision, untold):
        return None
    for column, then in indexed.items():
        if types[column] != then:
            rows = rows.withColumn(column, quoted(column).cast(then))
    point = [c.alias(f"c{i}") for i, c in enumerate(coordinates(spark, revision, indexed))]
    seen = rows.select(
        file_location(spark, F.input_file_name()).alias("location"),
        *point,
        bridge.row_weight(rows, revision.hashed_columns).alias("w"),
    )
    texts = [(file.location, file.path, json.dumps(dict(file.logged.true_tags))) for file in files]
    logged = bridge.local_frame(spark, _LOGGED, [list(column) for column in zip(*texts, strict=True)])
    found = _checked(seen, logged, revision.dimensions, are_placed=are_placed)
    return [Problem(*row) for row in found.collect()]


def _types_are_lost(log: bridge.TableLog, revision: Revision, untold: Iterable[str]) -> bool:
    """Whether some column had another type when a revision's rows were hashed, and the table does not say which.

    `untold` are the columns whose former type the revision does not record: decimals, which share one name in
    the format, and weight columns.
    """
    return revision.hashed_as is None and any(log.has_widened(column) for column in untold)


def _checked(seen: DataFrame, logged: DataFrame, dimensions: int, *, are_placed: bool) -> DataFrame:
    """What the log says wrongly of rows. A task gets the tags of the files whose rows it sees, and of no others."""

    def check(rows: pa.Table, of_file: pa.Table) -> pa.Table:
        found: list[Problem] = []
        # A file may have no rows.
        if rows.num_rows:
            _, file, text = (column[0].as_py() for column in of_file.columns)
            tags = read_json(text, "tags")
            bounded = blocks_of_rows(tags, parse_tags(tags, lambda _: dimensions).blocks)
            *coordinate, weights = (column.to_numpy() for column in rows.columns[1:])
            points = np.column_stack(coordinate)
            compare = check_rows if are_placed else check_counts
            found += compare(file, bounded, points, weights)
            found += check_weights(file, tags, points, weights)
        fields = ([getattr(problem, name) for problem in found] for name in names)
        return pa.table(dict(zip(names, (pa.array(field, pa.string()) for field in fields), strict=True)))

    names = [field.split()[0] for field in _REPORT.split(", ")]
    return seen.groupBy("location").cogroup(logged.groupBy("location")).applyInArrow(check, _REPORT)
