"""Revisions: one way of indexing a table, as stored in its configuration."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyqbeast.core.arguments import is_whole_number
from pyqbeast.core.errors import FormatError, InvalidInputError, NotIndexedError
from pyqbeast.core.format.constants import (
    CLASS_PREFIX,
    HASHED_AS,
    LAST_REVISION,
    LONG_MAX,
    LONG_MIN,
    REVISION_PREFIX,
    STAGING_REVISION,
    WEIGHT_COLUMNS,
    WEIGHTED_CLASS_PREFIX,
)
from pyqbeast.core.format.hashed_layout import column_names, layout_text
from pyqbeast.core.format.json_text import compact_json
from pyqbeast.core.format.names import column_named, repeated_name
from pyqbeast.core.format.stored_text import read_json, shown, whole_number
from pyqbeast.core.transform.base import Transformation, Transformer
from pyqbeast.core.transform.empty import Empty, EmptyTransformer
from pyqbeast.core.transform.registry import transformation_from_json, transformer_from_json


@dataclass(frozen=True, slots=True)
class Revision:
    """One way of indexing: columns, their transformations and the cube size (rows). One tree belongs to it.

    `timestamp` is in epoch milliseconds. `table_id` is the path that the writer used, and nothing depends on
    it. `weight_columns` are hashed after the indexed columns into the weight of a row; they separate rows that
    have the same indexed values. `hashed_as` says how the files hold the hashed columns (see `hashed_layout`).
    The bridge records it when it stores a revision; None if no writer did. Transformers, transformations and
    the dimensions of cubes are in the same order. Revision 0 stands for files without index metadata. Its
    transformations are Empty, or missing if the table was created without rows.
    """

    id: int
    timestamp: int
    table_id: str
    cube_size: int
    transformers: tuple[Transformer, ...]
    transformations: tuple[Transformation, ...]
    weight_columns: tuple[str, ...] = ()
    hashed_as: str | None = None

    def __post_init__(self) -> None:
        if self.id > LONG_MAX:
            raise FormatError(
                f"no revision can follow number {LONG_MAX}, the largest that there is; write the rows to a new table"
            )
        counts = len(self.transformers), len(self.transformations)
        if not self.transformers or (counts[0] != counts[1] and (counts[1] or not self.is_staging)):
            raise FormatError(
                f"revision {self.id} has {counts[0]} columnTransformers and {counts[1]} transformations; "
                "it needs one of each per indexed column"
            )
        repeated = repeated_name(self.hashed_columns)
        if repeated is not None:
            raise FormatError(f"revision {self.id} names column {shown(repeated)} more than once")
        if self.hashed_as and len(column_names(self.hashed_as)) != len(self.hashed_columns):
            raise FormatError(f"revision {self.id} hashes {self.hashed_columns} and records {self.hashed_as}")

    @classmethod
    def staging(cls, table_id: str, cube_size: int, columns: Iterable[str], timestamp: int) -> Revision:
        """Revision 0 of a new table that is to be indexed by these columns."""
        transformers = tuple(EmptyTransformer(column) for column in columns)
        return cls(
            STAGING_REVISION,
            timestamp,
            table_id,
            cube_size,
            transformers,
            tuple(Empty() for _ in transformers),
        )

    @classmethod
    def from_json(cls, text: str) -> Revision:
        """The revision in a stored text. Raises FormatError where it breaks the format."""
        stored = read_json(text, "a revision")
        if not isinstance(stored, dict):
            raise FormatError(f"a revision has to be a JSON object, not {shown(stored)}")
        weight_columns = _weight_columns(stored)
        prefix = WEIGHTED_CLASS_PREFIX if weight_columns else CLASS_PREFIX
        return cls(
            id=_whole_field(stored, "revisionID", STAGING_REVISION),
            timestamp=_whole_field(stored, "timestamp", LONG_MIN),
            table_id=str(stored.get("tableID", "")),
            cube_size=_whole_field(stored, "desiredCubeSize", 1),
            transformers=tuple(
                transformer_from_json(fields, prefix) for fields in _objects(stored, "columnTransformers")
            ),
            transformations=tuple(map(transformation_from_json, _objects(stored, "transformations"))),
            weight_columns=weight_columns,
            hashed_as=layout_text(stored[HASHED_AS]) if HASHED_AS in stored else None,
        )

    def to_json(self) -> str:
        """The stored text: compact, fields in the order of the other writers."""
        prefix = WEIGHTED_CLASS_PREFIX if self.weight_columns else CLASS_PREFIX
        return compact_json(
            {
                "revisionID": self.id,
                "timestamp": self.timestamp,
                "tableID": self.table_id,
                "desiredCubeSize": self.cube_size,
                "columnTransformers": [
                    {**each.to_json(), "className": prefix + each.class_name} for each in self.transformers
                ],
                "transformations": [transformation.to_json() for transformation in self.transformations],
                **({WEIGHT_COLUMNS: list(self.weight_columns)} if self.weight_columns else {}),
                **({HASHED_AS: read_json(self.hashed_as, HASHED_AS)} if self.hashed_as else {}),
            }
        )

    def named_as(self, columns: Collection[str]) -> Revision:
        """The same for a table that has these columns now, whose names may have changed their case since.

        A column that is not among them keeps its name.
        """

        def today(name: str) -> str:
            return column_named(name, columns) or name

        return replace(
            self,
            transformers=tuple(replace(each, column=today(each.column)) for each in self.transformers),
            weight_columns=tuple(map(today, self.weight_columns)),
        )

    @property
    def columns(self) -> list[str]:
        """The names of the indexed columns, in order."""
        return [transformer.column for transformer in self.transformers]

    @property
    def hashed_columns(self) -> list[str]:
        """The names of the columns whose hash is the weight of a row, in order."""
        return [*self.columns, *self.weight_columns]

    @property
    def dimensions(self) -> int:
        """How many columns are indexed."""
        return len(self.transformers)

    @property
    def is_staging(self) -> bool:
        """Whether this is revision 0, which indexes nothing."""
        return self.id == STAGING_REVISION


@dataclass(frozen=True, slots=True)
class RevisionSet:
    """The revisions of a table: those that could be read, by id, and what is wrong with the others.

    `last_id` is -1 for a table without revisions. `highest_id` is the largest number that any entry has and that
    another one can follow, whether the entry could be read or not.
    """

    revisions: dict[int, Revision]
    last_id: int
    problems: tuple[str, ...] = ()
    highest_id: int = -1

    @property
    def latest(self) -> Revision | None:
        """The revision that new rows go to, None for a table without any. Raises FormatError as `get`."""
        return None if self.last_id < 0 else self.get(self.last_id)

    @property
    def next_id(self) -> int:
        """The number of the next revision. Files of a number that is given out twice would have two meanings."""
        return max(self.last_id, self.highest_id, STAGING_REVISION) + 1

    @property
    def dimensions(self) -> dict[int, int]:
        """How many dimensions the cubes of each revision have."""
        return {number: revision.dimensions for number, revision in self.revisions.items()}

    def named_as(self, columns: Collection[str]) -> RevisionSet:
        """The same with the names that the columns of the table have now; see `Revision.named_as`."""
        named = {number: revision.named_as(columns) for number, revision in self.revisions.items()}
        return replace(self, revisions=named)

    def chosen(self, number: int | None, table: str) -> Revision:
        """The revision that a user asks for by its number, by default the latest of the table.

        Raises:
            NotIndexedError: The table has none of this number.
            InvalidInputError: `number` is no number.
            FormatError: The latest cannot be read, or nothing says which one it is.
        """
        if number is None:
            self.check_latest_is_known(table)
            return self.get(self.last_id)
        given: object = number
        if not is_whole_number(given):
            raise InvalidInputError(f"a revision is told by its number, not by {number!r}")
        if number not in self.revisions:
            raise NotIndexedError(
                f"the table at {table} has no revision {number}; it has {sorted(self.revisions)}"
            )
        return self.revisions[number]

    def get(self, revision_id: int) -> Revision:
        """The revision of this id. Raises FormatError, with the problems found, where it cannot be read."""
        if revision_id not in self.revisions:
            reason = "; ".join(self.problems) or f"there are revisions {sorted(self.revisions)}"
            raise FormatError(
                f"revision {revision_id} cannot be read from the table's configuration: {reason}"
            )
        return self.revisions[revision_id]

    def check_latest_is_known(self, table: str) -> None:
        """Checks that the table at a location says which of its revisions is the latest.

        Raises:
            FormatError: it does not, and has revisions, to which its files belong. It is no plain Delta table then.
        """
        if self.last_id < 0 and self.problems:
            raise FormatError(
                f"the index of the table at {table} is damaged: {'; '.join(self.problems)}; run first: "
                f"pyqbeast repair {shlex.quote(table)} --yes"
            )


def revisions_from_configuration(configuration: Mapping[str, str]) -> RevisionSet:
    """The revisions in a table's configuration. Entries that do not belong to the index are ignored.

    Never raises: a revision that cannot be read is left out, and a problem text names its key.
    """
    revisions: dict[int, Revision] = {}
    problems: list[str] = []
    for key, text in configuration.items():
        if not key.startswith(REVISION_PREFIX):
            continue
        try:
            revision = Revision.from_json(text)
            if key != f"{REVISION_PREFIX}{revision.id}":
                raise FormatError(f"the text says revision {revision.id}")
            revisions[revision.id] = revision
        except FormatError as error:
            problems.append(f"{key}: {error}")
    last_id = _last_id(configuration.get(LAST_REVISION), problems)
    if last_id < 0 and revisions:
        problems.append(f"{LAST_REVISION} is missing, so none of revisions {sorted(revisions)} is the latest")
    return RevisionSet(revisions, last_id, tuple(problems), _highest_id(configuration))


def revisions_of_indexed(
    table: str, configuration: Mapping[str, str], *, is_partitioned: bool
) -> RevisionSet:
    """The revisions of an indexed table. They may be damaged.

    Where Delta replaces all rows of a table by partitioned ones, it keeps its properties. They tell of an index of
    rows that are gone.

    Raises:
        NotIndexedError: the table is not indexed.
    """
    if is_partitioned:
        raise NotIndexedError(
            f"the Delta table at {table} is partitioned, so it is not indexed: write its rows to a new table, with the "
            "partition columns among columnsToIndex"
        )
    revisions = revisions_from_configuration(configuration)
    if revisions.last_id < 0 and not revisions.problems:
        raise NotIndexedError(f"the Delta table at {table} is not indexed; call pyqbeast.convert on it first")
    return revisions


def configuration_entries(revision: Revision, configuration: Mapping[str, str]) -> dict[str, str]:
    """The entries to add to a table's configuration so that `revision` becomes its latest one.

    The first revision of a table also adds revision 0, because other readers look for it.
    """
    entries = {LAST_REVISION: str(revision.id), f"{REVISION_PREFIX}{revision.id}": revision.to_json()}
    staging_key = f"{REVISION_PREFIX}{STAGING_REVISION}"
    if revision.id == STAGING_REVISION + 1 and staging_key not in configuration:
        staging = Revision.staging(
            revision.table_id, revision.cube_size, revision.columns, revision.timestamp - 1
        )
        entries[staging_key] = staging.to_json()
    return entries


def _highest_id(configuration: Mapping[str, str]) -> int:
    """The largest number in the key of an entry that another one can follow; -1 where there is none."""
    highest = -1
    for key in configuration:
        if key.startswith(REVISION_PREFIX):
            with contextlib.suppress(FormatError):
                number = whole_number(key.removeprefix(REVISION_PREFIX), key)
                highest = max(highest, number) if number < LONG_MAX else highest
    return highest


def _last_id(text: str | None, problems: list[str]) -> int:
    if text is None:
        return -1
    try:
        return whole_number(text, LAST_REVISION)
    except FormatError as error:
        problems.append(str(error))
        return -1


def _whole_field(stored: Mapping[str, Any], name: str, least: int) -> int:
    value = stored.get(name)
    if type(value) is not int or not least <= value <= LONG_MAX:
        raise FormatError(
            f"field {name!r} of a revision has to be a whole number from {least}, not {shown(value)}"
        )
    return value


def _weight_columns(stored: Mapping[str, Any]) -> tuple[str, ...]:
    names = stored.get(WEIGHT_COLUMNS, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FormatError(
            f"field {WEIGHT_COLUMNS!r} of a revision has to be a list of names, not {shown(names)}"
        )
    return tuple(names)


def _objects(stored: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = stored.get(name)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise FormatError(f"field {name!r} of a revision has to be a list of objects, not {shown(value)}")
    return value
