"""`QbeastTable.verify`: whether a table's index says the truth, from the log alone or with all rows looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pyqbeast import bridge
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.constants import STAGING_REVISION
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block, parse_tags
from pyqbeast.core.format.types import type_when_indexed
from pyqbeast.core.otree.compaction import is_copy
from pyqbeast.core.otree.invariants import Problem, check_columns, check_rows, check_tree, check_weights
from pyqbeast.core.otree.status import IndexStatus
from pyqbeast.core.revisions.revision import Revision, RevisionSet
from pyqbeast.table.coordinates import coordinates, quoted, weight
from pyqbeast.table.maintain.verify_columns import check_names, types_are_lost, unpruned

LEVELS = ("log", "data")
_REPORT = "rule string, file string, cube string, text string"


@dataclass(frozen=True)
class VerifyReport:
    """What `verify` found. `str()` tells it to a person.

    Attributes:
        level: what was looked at.
        files: how many there are.
        problems: rules that are broken.
        notes: what is in order and costs time: files that samples read whole though they are indexed.
    """

    level: str
    files: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no rule is broken."""
        return not self.problems

    def __str__(self) -> str:
        head = f"{self.files} files checked against the {self.level}: "
        count = "no problems" if self.ok else f"{len(self.problems)} problems"
        return "\n".join([head + count, *map(str, self.problems), *self.notes])


def verify(spark: SparkSession, path: str, stored: RevisionSet, level: str) -> VerifyReport:
    """Checks the newest version of the table at a path; see `QbeastTable.verify`."""
    if level not in LEVELS:
        raise InvalidInputError(f"level has to be one of {', '.join(LEVELS)}, not {level!r}")
    dimensions = {number: revision.dimensions for number, revision in stored.revisions.items()}
    log = bridge.TableLog(spark, path)
    files = log.files()
    problems = [Problem("revisions", "", "", text) for text in stored.problems]
    blocks: dict[int, dict[str, list[Block]]] = {}
    copied: dict[int, set[CubeId]] = {}
    for file in files:
        tags = parse_tags(file.tags, dimensions.get)
        if tags.problem:
            problems.append(Problem("tags", file.path, "", tags.problem))
        if tags.revision_id == STAGING_REVISION:
            continue
        if file.falsely_replicated:
            text = (
                "is marked as replicated, and no other file holds its rows. It is read like any other here, and not "
                "by readers that believe the mark; optimize(files=[…]) writes it anew"
            )
            problems.append(Problem("replicated rows are stored twice", file.path, "", text))
        if is_copy(tags.blocks):
            # Their rows are read from files of other cubes, and checked there.
            copied.setdefault(tags.revision_id, set()).update(block.cube for block in tags.blocks)
        else:
            blocks.setdefault(tags.revision_id, {})[file.path] = tags.blocks
        counted = sum(block.element_count for block in tags.blocks)
        if file.rows is not None and file.rows != counted:
            text = f"its blocks count {counted} rows and its statistics {file.rows}"
            problems.append(Problem("statistics", file.path, "", text))
    for number in sorted({*blocks, stored.last_id}):
        problems += check_columns(stored.get(number), log.schema.fieldNames())
    notes = []
    for number, of_files in blocks.items():
        revision = stored.get(number)
        problems += check_names(log, revision)
        if number not in log.prunable_revisions:
            notes.append(unpruned(revision, len(of_files)))
        status = IndexStatus.from_blocks(revision, (b for found in of_files.values() for b in found))
        problems += check_tree(number, status, copied.get(number, set()))
        if level == "data" and not check_columns(revision, log.schema.fieldNames()):
            of_log = {file.path: file.tags for file in files if file.path in of_files}
            problems += _check_data(spark, log, revision, of_files, of_log)
    return VerifyReport(level, len(files), tuple(problems), tuple(notes))


def _check_data(
    spark: SparkSession,
    log: bridge.TableLog,
    revision: Revision,
    blocks: Mapping[str, list[Block]],
    tags: Mapping[str, Mapping[str, str]],
) -> list[Problem]:
    """Looks at every row of a revision's files, those that deletion vectors hide too. One Spark job."""
    rows = log.stored_rows(list(blocks), revision.hashed_columns, revision.hashed_as)
    types = bridge.simple_types(rows)
    indexed = {t.column: type_when_indexed(types[t.column], str(t.data_type)) for t in revision.transformers}
    untold = [column for column in types if indexed.get(column) in (None, types[column])]
    if types_are_lost(log, revision, untold):
        return []
    for column, then in indexed.items():
        if types[column] != then:
            rows = rows.withColumn(column, quoted(column).cast(then))
    by_name = {unquote(file).rsplit("/", 1)[-1]: file for file in blocks}
    point = [c.alias(f"c{i}") for i, c in enumerate(coordinates(spark, revision, indexed))]
    seen = rows.select(
        F.element_at(F.split(F.input_file_name(), "/"), -1).alias("name"),
        *point,
        weight(revision.hashed_columns).alias("w"),
    )
    return [Problem(*row) for row in _checked(seen, by_name, blocks, tags).collect()]


def _checked(
    seen: DataFrame,
    by_name: Mapping[str, str],
    blocks: Mapping[str, list[Block]],
    tags: Mapping[str, Mapping[str, str]],
) -> DataFrame:
    def check(key: tuple[pa.Scalar, ...], rows: pa.Table) -> pa.Table:
        file = by_name[unquote(key[0].as_py())]
        columns = [rows.column(name).to_numpy() for name in rows.column_names]
        points = np.column_stack(columns[1:-1])
        found = check_rows(file, blocks[file], points, columns[-1])
        found += check_weights(file, tags[file], columns[-1])
        fields = [
            [p.rule for p in found],
            [p.file for p in found],
            [p.cube for p in found],
            [p.text for p in found],
        ]
        return pa.table(
            dict(
                zip(("rule", "file", "cube", "text"), (pa.array(f, pa.string()) for f in fields), strict=True)
            )
        )

    return seen.groupBy("name").applyInArrow(check, _REPORT)
