"""Open arrays: their schema, fragments and metadata at a time, and their cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import pyarrow as pa

from pyqbeast.core.errors import InvalidInputError, TableNotFoundError, UnsupportedError
from pyqbeast.core.once import once
from pyqbeast.core.secrets import without_secrets
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.format.conditions import parse_condition
from pyqbeast.tiledb.format.domain import MBR
from pyqbeast.tiledb.format.enumeration import Enumeration
from pyqbeast.tiledb.format.generic_tile import OLDEST_VERSION, GenericTile
from pyqbeast.tiledb.format.metadata import apply_metadata, shown_metadata
from pyqbeast.tiledb.format.schema import ArraySchema
from pyqbeast.tiledb.read.dense import clipped, read_dense
from pyqbeast.tiledb.read.fragment import Fragment
from pyqbeast.tiledb.read.groups import overlapping, those_in
from pyqbeast.tiledb.read.order import in_row_major
from pyqbeast.tiledb.read.predicate import box_of, parse_box, parse_where
from pyqbeast.tiledb.read.request import Deletion, Request, empty_table
from pyqbeast.tiledb.read.sparse import read_group
from pyqbeast.tiledb.storage.folder import ENUMERATIONS, FRAGMENTS, METADATA, SCHEMAS, ArrayFolder
from pyqbeast.tiledb.storage.names import TimestampedName, Window, is_file_name, no_fragment
from pyqbeast.tiledb.storage.stores import Store

Order = Literal["row-major", "unordered"]

#: Where arrays of format versions before 10 keep their only schema.
_OLD_SCHEMA = "__array_schema.tdb"


class Array:
    """An array at a time. Fragments are listed when it is opened; everything else is read when asked for.

    Attributes:
        uri: where it is.
        window: the span of time looked at.
        store: its files.
        folder: its listing.
        schema: what its cells are. `create.plan_array` gives one that is not stored yet (`unstored`), so that
            fragments can be staged for an array that nobody sees.
    """

    schema: ArraySchema

    def __init__(
        self, store: Store, window: Window, key: bytes | None = None, unstored: ArraySchema | None = None
    ) -> None:
        self.uri, self.store, self.window, self._key = store.uri, store, window, key
        self.folder = ArrayFolder.load(store)
        self._schemas: dict[str, ArraySchema] = {}
        self._encrypted = False
        if unstored is not None:
            self._schemas[unstored.name] = self.schema = unstored
            self._encrypted = key is not None
            return
        if not self.folder.schemas:
            if store.size(_OLD_SCHEMA) is not None:
                raise UnsupportedError(
                    f"{self.uri}: format versions before {OLDEST_VERSION} are not supported"
                )
            raise TableNotFoundError(f"{self.uri}: there is no array here (no file in {SCHEMAS})")
        # The schema is read now, so that a broken or unsupported one is an error of opening and not of the
        # first read.
        self.schema = self._load_schema(self._schema_name())
        if key is not None and not self._encrypted:
            raise InvalidInputError(f"{self.uri}: the array is not encrypted: pass no encryption_key")

    def __repr__(self) -> str:
        kind = "dense" if self.schema.dense else "sparse"
        return f"<{kind} array {without_secrets(self.uri)!r}, columns {list(self.schema.fields)}>"

    def _schema_name(self) -> str:
        """The newest schema of the time, or the oldest one if all are later."""
        names = [name for name in self.folder.schemas if name.end <= self.window.end]
        return (names or self.folder.schemas[:1])[-1].text

    def _load_schema(self, name: str) -> ArraySchema:
        if name not in self._schemas:
            path = _path_in(SCHEMAS, name)
            tile = GenericTile.parse(self.store.read(path), path, "schema", self._key)
            self._encrypted = self._encrypted or tile.encrypted
            schema = ArraySchema.parse(tile.payload, name)
            if self._schemas and _space(schema) != _space(self.schema):
                raise ArrayFormatError("the dimensions are not those of the array", file=path)
            self._schemas[name] = schema
        return self._schemas[name]

    def _tile(self, path: str, label: str, content: bytes | None = None) -> bytes:
        data = self.store.read(path) if content is None else content
        return GenericTile.parse(data, path, label, self._key).payload

    @property
    def key(self) -> bytes | None:
        """The encryption key, `None` where the array is not encrypted."""
        return self._key if self._encrypted else None

    @property
    def fragments(self) -> list[Fragment]:
        """The fragments that hold cells of the time, oldest first."""
        # A copy, here and below: who changes it changes nothing that is read.
        return list(self._fragments)

    @property
    @once
    def _fragments(self) -> tuple[Fragment, ...]:
        fragments = []
        for name in self.folder.visible(self.window, self.schema.dense):
            fragment = self.fragment(name.text)
            # A fragment that lies partly inside the window can be cut only if it has the times of its cells.
            if self.window.contains(name) or fragment.footer.has_timestamps:
                fragments.append(fragment)
        return tuple(fragments)

    def fragment(self, name: str) -> Fragment:
        """A fragment by its name, committed or not.

        Raises:
            InvalidInputError: that is no fragment's name.
        """
        parsed = TimestampedName.parse(name)
        if parsed is None:
            raise no_fragment(name)
        return Fragment(
            self.store,
            self.folder.fragments.get(parsed, f"{FRAGMENTS}/{name}"),
            parsed,
            self._load_schema,
            self.key,
        )

    @property
    def metadata(self) -> dict[str, Any]:
        """The array's own metadata: text, bytes, numbers or tuples of numbers by key.

        An array of several axes, which tiledb-py has kept, is tuples in tuples.
        """
        return dict(self._metadata)

    @property
    @once
    def _metadata(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name in self.folder.metadata:
            if self.window.contains(name):
                path = f"{METADATA}/{name.text}"
                apply_metadata(self._tile(path, "array metadata"), path, values)
        return shown_metadata(values)

    @property
    def enumerations(self) -> dict[str, Enumeration]:
        """The enumerations by name; `schema.fields[column].enumeration` says which a column uses."""
        return dict(self._enumerations)

    @property
    @once
    def _enumerations(self) -> dict[str, Enumeration]:
        values = {}
        for name, file in self.schema.enumerations.items():
            path = _path_in(ENUMERATIONS, file)
            values[name] = Enumeration.parse(self._tile(path, "enumeration"), path)
        return values

    @property
    @once
    def deletions(self) -> tuple[Deletion, ...]:
        """The delete conditions of the time, oldest first."""
        conditions = []
        for name, (path, content) in sorted(self.folder.conditions.items()):
            if self.window.contains(name):
                condition = parse_condition(self._tile(path, "delete condition", content), path)
                conditions.append(Deletion(name.start, path.rsplit("/", 1)[-1], condition))
        return tuple(conditions)

    @property
    def non_empty_domain(self) -> MBR | None:
        """The rectangle around all cells, in stored coordinates; `None` where there are none."""
        domains = [f.footer.non_empty_domain for f in self.fragments]
        known = [domain for domain in domains if domain is not None]
        return MBR.around(known) if known else None

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns that `read` gives."""
        return pa.schema([_arrow_field(self.schema, name) for name in self.schema.fields])

    def request(
        self, columns: Sequence[str] | None, where: Sequence[Any] | None, box: Mapping[str, Any] | None
    ) -> Request:
        """What `read` is asked for, checked."""
        schema = self.schema
        fields = tuple(schema.select(columns))
        predicates = tuple(parse_where(where, schema))
        limits = self._in_use(box_of(predicates, schema, parse_box(box, schema)))
        return Request(schema, fields, predicates, limits, self.window, self.deletions)

    def _in_use(self, box: MBR | None) -> MBR | None:
        """The part of a box in which a sparse array shows cells: its current domain, where cells lie outside of it."""
        current = None if self.schema.dense else self.schema.current_domain
        if current is None:
            return box
        domains = [f.footer.non_empty_domain for f in self.fragments]
        # A box costs the reading of coordinates, and cells outside are rare: they are older than the current domain.
        if all(domain is None or current.holds(domain) for domain in domains):
            return box
        return current if box is None else current.narrowed(box)

    def read(
        self,
        columns: Sequence[str] | None = None,
        where: Sequence[Any] | None = None,
        box: Mapping[str, Any] | None = None,
        *,
        order: Order = "row-major",
    ) -> pa.Table:
        """Read cells.

        Args:
            columns: dimensions and attributes to return, in this order; all of them by default.
            where: conditions that all must hold, as (column, operator, value); see `Predicate`.
            box: (low, high) by dimension, both included; `None` for an end leaves it open.
            order: "row-major" by coordinates, or "unordered", which saves a sparse array the sorting.

        Returns:
            one row per cell. A dense array gives every cell of the box, those that nobody wrote with their
                fill values.

        Raises:
            InvalidInputError: no such column, or a condition that makes no sense for it.
            ArrayFormatError: a file is missing or broken.
        """
        request = self.request(columns, where, box)
        if not request.columns:
            # A table of Arrow counts its rows by a column.
            return self.read([self.schema.dimensions[0].name], where, box, order=order).select([])
        if order not in ("row-major", "unordered"):
            raise InvalidInputError(f"order is 'row-major' or 'unordered', not {order!r}")
        table = self._read_dense(request) if self.schema.dense else self._read_sparse(request, order)
        return table.cast(pa.schema([_arrow_field(self.schema, f.name) for f in request.columns]))

    def _read_dense(self, request: Request) -> pa.Table:
        box = clipped(request, self.fragments)
        return empty_table(request) if box is None else read_dense(self.fragments, request, box)

    def _read_sparse(self, request: Request, order: Order) -> pa.Table:
        names = [f.name for f in request.columns]
        extra = self.schema.dimension_fields if order == "row-major" else ()
        # A column that is asked for twice is read once.
        request = replace(request, columns=tuple(dict.fromkeys((*request.columns, *extra))))
        tables = [read_group(group, request) for group in self.groups(request.box)]
        table = pa.concat_tables(tables) if tables else empty_table(request)
        if order == "row-major":
            table = in_row_major(table, self.schema.dimension_fields)
        return table.select(names)

    def groups(self, box: MBR | None = None) -> list[list[Fragment]]:
        """The fragments that may have cells in a box, in groups.

        Only those of one group may overwrite each other's cells.
        """
        dimensions = self.schema.dimension_fields
        fragments = those_in(self.fragments, box, dimensions)
        if self.schema.allows_duplicates:
            return [[fragment] for fragment in fragments]
        return overlapping(fragments, dimensions)


def _path_in(folder: str, name: str) -> str:
    """The path of a file whose name another file states. Raises ArrayFormatError where that is no file's name."""
    if not is_file_name(name):
        raise ArrayFormatError(f"{name!r} is no name of a file in {folder}")
    return f"{folder}/{name}"


def _space(schema: ArraySchema) -> list[object]:
    """The parts of a schema that must be the same in all schemas of an array."""
    fields = [(d.name, d.field.datatype, d.domain, d.tile_span) for d in schema.dimensions]
    return [schema.dense, schema.tile_order, schema.cell_order, *fields]


def _arrow_field(schema: ArraySchema, name: str) -> pa.Field:
    field = schema.fields[name]
    return pa.field(name, field.arrow_type, nullable=field.has_nulls)
