"""What the log says about one deletion vector: the descriptor on an `add` or `remove` entry."""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Mapping
from typing import Any, ClassVar

from pyqbeast.core.arguments import check_type
from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.constants import INT_MAX, LONG_MAX
from pyqbeast.core.format.stored_text import read_json, shown
from pyqbeast.core.location import Location
from pyqbeast.delta_log import compact_form, locations, z85

#: The storage letters: a file named by a UUID, bytes in the log, a file at an absolute path.
UUID, INLINE, PATH = "u", "i", "p"

_ENCODED_UUID = 20
#: Python name, name in the log, largest value, may be absent.
_NUMBERS = (
    ("offset", "offset", INT_MAX, True),
    ("size_in_bytes", "sizeInBytes", INT_MAX, False),
    ("cardinality", "cardinality", LONG_MAX, False),
    ("max_row_index", "maxRowIndex", LONG_MAX, True),
)


@dataclasses.dataclass(frozen=True)
class DeletionVectorDescriptor:
    """Where a deletion vector is and how many rows it removes; equal by value, immutable.

    Storage types: `u` is a file below the table, named by a UUID (`path_or_inline_dv`: an optional prefix,
    then 20 characters of Z85); `i` is the serialized vector itself as Z85; `p` is a file at an absolute,
    URL-encoded path. `offset` is the byte in the file where the vector starts (absent for `i`),
    `size_in_bytes` the length of the serialized vector, `cardinality` the rows it removes, and
    `max_row_index` the largest of them.

    Raises `FormatError`, naming the field, where the values do not describe a vector.
    """

    storage_type: str
    path_or_inline_dv: str
    offset: int | None = None
    # Both are required: the defaults, which no vector can have, only let them follow `offset` as in the log.
    size_in_bytes: int = -1
    cardinality: int = -1
    max_row_index: int | None = None

    #: The descriptor of no deleted rows.
    EMPTY: ClassVar[DeletionVectorDescriptor]

    def __post_init__(self) -> None:
        if self.storage_type not in (UUID, INLINE, PATH):
            raise FormatError(
                f"storageType: {shown(self.storage_type)} is unknown; it is one of 'u', 'i' and 'p'"
            )
        if not isinstance(self.path_or_inline_dv, str):
            raise FormatError(f"pathOrInlineDv: {shown(self.path_or_inline_dv)} is no text")
        for name, field, largest, optional in _NUMBERS:
            _check_number(field, getattr(self, name), largest, optional)
        if self.is_inline and self.offset is not None:
            raise FormatError(f"offset: an inline deletion vector has none, this one says {self.offset}")
        _check_payload(self)

    @classmethod
    def on_disk_with_relative_path(
        cls,
        id: uuid.UUID,  # noqa: A002 - the name Delta gives it
        random_prefix: str = "",
        *,
        size_in_bytes: int,
        cardinality: int,
        offset: int | None = None,
        max_row_index: int | None = None,
    ) -> DeletionVectorDescriptor:
        """Describe a vector in the file that `id` names, in the folder `random_prefix` of the table."""
        check_type(id, uuid.UUID, "a file of deletion vectors is named by a uuid.UUID")
        check_type(random_prefix, str, "the prefix of a file of deletion vectors is a text")
        name = random_prefix + z85.encode(id.bytes)
        return cls(UUID, name, offset, size_in_bytes, cardinality, max_row_index)

    @classmethod
    def on_disk_with_absolute_path(
        cls,
        path: str,
        size_in_bytes: int,
        cardinality: int,
        offset: int | None = None,
        max_row_index: int | None = None,
    ) -> DeletionVectorDescriptor:
        """Describe a vector in the file at `path`, an absolute URL-encoded path."""
        return cls(PATH, path, offset, size_in_bytes, cardinality, max_row_index)

    @classmethod
    def inline_in_log(cls, data: bytes, cardinality: int) -> DeletionVectorDescriptor:
        """Describe the serialized vector `data` as text of the log itself."""
        check_type(data, bytes, "a serialized deletion vector is bytes")
        return cls(INLINE, z85.encode(data), size_in_bytes=len(data), cardinality=cardinality)

    @property
    def is_inline(self) -> bool:
        """Whether the vector is in the log itself."""
        return self.storage_type == INLINE

    @property
    def is_on_disk(self) -> bool:
        """Whether the vector is in a file."""
        return not self.is_inline

    @property
    def unique_id(self) -> str:
        """The vector's half of a file's identity in the log: storage letter, path, and `@offset` if any."""
        at = "" if self.offset is None else f"@{self.offset}"
        return f"{self.storage_type}{self.path_or_inline_dv}{at}"

    def absolute_path(self, table: Location) -> str:
        """The location of the vector's file, for a table at `table`.

        Raises `InvalidInputError` for an inline vector: it has no file.
        """
        if self.is_inline:
            raise InvalidInputError("an inline deletion vector has no path; its bytes are `inline_data()`")
        if self.storage_type == PATH:
            return locations.url_decode(self.path_or_inline_dv)
        prefix, encoded = self.path_or_inline_dv[:-_ENCODED_UUID], self.path_or_inline_dv[-_ENCODED_UUID:]
        return self.assemble_path(table, uuid.UUID(bytes=z85.decode(encoded)), prefix)

    @staticmethod
    def assemble_path(parent: Location, id: uuid.UUID, prefix: str = "") -> str:  # noqa: A002
        """The location of the vector file of `id` below `parent`, in the folder `prefix` if any."""
        return locations.child(parent, prefix, f"deletion_vector_{id}.bin")

    def copy_with_absolute_path(self, table: Location) -> DeletionVectorDescriptor:
        """The descriptor with `u` turned into `p`, for a table at `table`; `i` and `p` unchanged."""
        if self.storage_type != UUID:
            return self
        path = locations.url_encode(self.absolute_path(table))
        return dataclasses.replace(self, storage_type=PATH, path_or_inline_dv=path)

    def inline_data(self) -> bytes:
        """The serialized vector that an inline descriptor carries.

        Raises `InvalidInputError` for a vector in a file.
        """
        if self.is_on_disk:
            raise InvalidInputError("this deletion vector is in a file; `DeletionVector.read` reads it")
        return z85.decode(self.path_or_inline_dv)[: self.size_in_bytes]

    def to_json(self) -> str:
        """The struct of the log as JSON text; absent fields are left out."""
        struct = {"storageType": self.storage_type, "pathOrInlineDv": self.path_or_inline_dv}
        struct |= {field: getattr(self, name) for name, field, _, _ in _NUMBERS}
        present = {field: value for field, value in struct.items() if value is not None}
        return json.dumps(present, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> DeletionVectorDescriptor:
        """The descriptor in `text`, the log's struct as JSON; `FormatError` where it holds none."""
        return cls.from_struct(read_json(text, "deletionVector"))

    @classmethod
    def from_struct(cls, struct: object) -> DeletionVectorDescriptor:
        """The descriptor of a parsed `deletionVector` struct of the log, by JSON or Parquet."""
        if not isinstance(struct, Mapping):
            raise FormatError(f"deletionVector: a struct is expected, not {shown(struct)}")
        fields: dict[str, Any] = {name: struct.get(field) for name, field, _, _ in _NUMBERS}
        return cls(struct.get("storageType"), struct.get("pathOrInlineDv"), **fields)  # type: ignore[arg-type]

    def to_base64(self) -> str:
        """The compact form that Delta hands to its Parquet reader; `max_row_index` is not part of it.

        Raises `InvalidInputError` for a path or inline text over the form's limit of 65,535 bytes.
        """
        return compact_form.encode(
            self.storage_type, self.path_or_inline_dv, self.offset, self.size_in_bytes, self.cardinality
        )

    @classmethod
    def from_base64(cls, text: str | bytes) -> DeletionVectorDescriptor:
        """The descriptor of the compact form `text`; `FormatError` where it is none."""
        check_type(text, (str, bytes), "the compact form of a descriptor is a text")
        return cls(*compact_form.decode(text))


def _check_number(field: str, value: object, largest: int, optional: bool) -> None:
    if value is None and optional:
        return
    # bool is an int to Python; in JSON it is not.
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= largest:
        raise FormatError(f"{field}: {shown(value)} is no whole number from 0 to {largest}")


def _check_payload(descriptor: DeletionVectorDescriptor) -> None:
    """Check that the text can be what its storage letter says."""
    text = descriptor.path_or_inline_dv
    if descriptor.storage_type == PATH:
        if not locations.is_absolute(text):
            raise FormatError(f"pathOrInlineDv: {shown(text)} is no absolute path")
        return
    if descriptor.storage_type == UUID and len(text) < _ENCODED_UUID:
        raise FormatError(f"pathOrInlineDv: {text!r} is shorter than the {_ENCODED_UUID} letters of a UUID")
    try:
        data = z85.decode(text if descriptor.is_inline else text[-_ENCODED_UUID:])
    except FormatError as error:
        raise FormatError(f"pathOrInlineDv: {error}") from error
    if descriptor.is_inline and len(data) != descriptor.size_in_bytes + -descriptor.size_in_bytes % 4:
        raise FormatError(f"sizeInBytes: {descriptor.size_in_bytes}, but pathOrInlineDv holds {len(data)}")


DeletionVectorDescriptor.EMPTY = DeletionVectorDescriptor(INLINE, "", size_in_bytes=0, cardinality=0)
