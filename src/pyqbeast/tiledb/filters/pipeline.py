"""Pipelines of filters: as the schema stores them, and applied to chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyqbeast.core.arguments import check_type
from pyqbeast.core.errors import InvalidInputError, UnsupportedError
from pyqbeast.tiledb.cursor import Cursor, u8, u32
from pyqbeast.tiledb.datatypes import Datatype
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.filters.base import ChunkContext, Filter, Octets, is_text_mode
from pyqbeast.tiledb.filters.checks import Aes256Gcm, Md5, Sha256
from pyqbeast.tiledb.filters.compress import Bzip2, Compressor, Gzip, Lz4, Rle, Zstd
from pyqbeast.tiledb.filters.delta import Delta, DoubleDelta
from pyqbeast.tiledb.filters.noop import NoOp
from pyqbeast.tiledb.filters.scale import FloatScale
from pyqbeast.tiledb.filters.shuffle import BitShuffle, ByteShuffle, Xor
from pyqbeast.tiledb.filters.text import Dictionary
from pyqbeast.tiledb.filters.windows import BitWidthReduction, PositiveDelta

#: Chunks of a tile are at most this long, unless the schema says otherwise.
MAX_CHUNK_SIZE = 65536

_WEBP, _WEBP_IN_DOCS = 18, 17
_COMPRESSORS = (Gzip, Zstd, Lz4, Rle, Bzip2, Dictionary)
_PLAIN = (NoOp, BitShuffle, ByteShuffle, Xor, Md5, Sha256, Aes256Gcm)
_WINDOWED = (BitWidthReduction, PositiveDelta)
_DIFFERENCES = (Delta, DoubleDelta)
#: The schema version since which the options name the type to take values for.
_REINTERPRET_SINCE = {Delta.id: 19, DoubleDelta.id: 20}


@dataclass(frozen=True)
class FilterPipeline:
    """The filters of a field in the order in which they are applied when writing.

    Attributes:
        filters: the filters.
        max_chunk_size: the most bytes of a chunk before filtering; one cell may be longer.
    """

    filters: tuple[Filter, ...] = ()
    max_chunk_size: int = MAX_CHUNK_SIZE

    @classmethod
    def parse(cls, cursor: Cursor, version: int) -> FilterPipeline:
        """Read a pipeline from a schema or generic tile of this format version.

        Raises:
            UnsupportedError: a filter that is known and not supported (WebP).
            ArrayFormatError: an unknown filter, or broken bytes.
        """
        max_chunk_size, count = cursor.u32("max chunk size"), cursor.u32("number of filters")
        filters = []
        for _ in range(count):
            number, size = cursor.u8("filter"), cursor.u32("filter options size")
            options = Cursor(cursor.take(size, "filter options"), cursor.file)
            filters.append(_filter(number, options, version))
        return cls(tuple(filters), max_chunk_size)

    def to_bytes(self) -> bytes:
        """The pipeline as a schema of the version that is written stores it."""
        out = u32(self.max_chunk_size, len(self.filters))
        for step in self.filters:
            options = step.options()
            out += u8(step.id) + u32(len(options)) + options
        return out

    @property
    def names(self) -> list[str]:
        """The filters' names, in the order in which they are applied when writing."""
        return [step.name for step in self.filters]

    def with_key(self, key: bytes | None) -> FilterPipeline:
        """The pipeline as it is in an encrypted array: encryption comes last, and without a key it refuses to run."""
        return FilterPipeline((*self.filters, Aes256Gcm(key)), self.max_chunk_size)

    def steps(self, context: ChunkContext) -> list[tuple[Filter, ChunkContext]]:
        """Each filter with what it sees."""
        out = []
        for step in self.filters:
            out.append((step, context))
            context = context.of_type(step.output_type(context.datatype))
        return out

    def check(self, context: ChunkContext) -> None:
        """Check that what goes through the filters can be read again, by libtiledb too.

        Args:
            context: what enters the first filter.

        Raises:
            InvalidInputError: a filter does not take what it gets.
        """
        if type(self.max_chunk_size) is not int or not 0 < self.max_chunk_size < 2**32:
            raise InvalidInputError(
                f"chunks are from 1 to {2**32 - 1} bytes long, not {self.max_chunk_size!r}"
            )
        for step in self.filters:
            check_type(step, Filter, "a filter is one of those of pyqbeast.tiledb.filters")
            if isinstance(step, _DIFFERENCES) and step.reinterpret is not None:
                check_type(step.reinterpret, Datatype, f"the filter {step.name} takes values for a Datatype")
        text, whole = is_text_mode(context, ascii_since=12), True
        changed = windows = narrowed = reduced = False
        # What the filters note for reading is a multiple of so many bytes; run lengths are taken of it too.
        noted = 8
        for i, (step, seen) in enumerate(self.steps(context)):
            problem = step.problem(seen)
            if isinstance(step, Compressor):
                problem = problem or _level_problem(step)
                reduced = False
            width = seen.of_column.cell_size if isinstance(step, Rle) else seen.datatype.size
            # The library looks for the filters that know text at the very beginning.
            if (changed and isinstance(step, FloatScale)) or (
                i and text and isinstance(step, Rle | Dictionary)
            ):
                problem = problem or "must be the first one"
            if step.needs_whole_values and not whole and width > 1:
                problem = problem or "takes whole values, which the filters before it do not leave"
            if windows and isinstance(step, (*_DIFFERENCES, Rle)):
                # The filter would compress the records of windows like values, but their size is no multiple of
                # 8 bytes.
                problem = problem or "cannot come after positive-delta"
            if changed and isinstance(step, Rle) and (narrowed or noted % width):
                problem = problem or "takes whole cells, which the filters before it do not leave"
            if reduced and isinstance(step, BitWidthReduction):
                # The library divides by the values that it gets, and one of them may have become a single byte.
                problem = problem or "cannot come after another one, which may leave less than one value"
            if problem:
                raise InvalidInputError(f"the filter {step.name} {problem}")
            changed = changed or not isinstance(step, NoOp)
            reduced = reduced or (isinstance(step, BitWidthReduction) and seen.datatype.size > 1)
            whole = whole and step.leaves_whole_values
            narrowed = narrowed or (isinstance(step, FloatScale) and step.width < seen.datatype.size)
            windows = windows or (isinstance(step, PositiveDelta) and seen.datatype.size == 8)
            noted = min(noted, 4, seen.datatype.size) if isinstance(step, PositiveDelta) else noted

    @property
    def first_step(self) -> Filter | None:
        """The first filter that changes anything."""
        return next((step for step in self.filters if not isinstance(step, NoOp)), None)

    def is_text(self, context: ChunkContext) -> bool:
        """Whether the first filter keeps the cells' lengths itself, so that the offsets tile is empty."""
        return bool(self.filters) and self.filters[0].needs_whole_tile(context)


def _level_problem(step: Compressor) -> str | None:
    if type(step.level) is not int or abs(step.level) >= 2**31:
        return f"takes a whole number for its level, not {step.level!r}"
    if step.level > step.highest_level:
        return f"takes a level up to {step.highest_level}, not {step.level}"
    return None


#: The pipeline of a field that is stored as it is.
NO_FILTERS = FilterPipeline()


def in_array(pipeline: FilterPipeline, key: bytes | None) -> FilterPipeline:
    """The pipeline as it is in an array with this key; in one that is not encrypted, which has none, it is the same."""
    return pipeline if key is None else pipeline.with_key(key)


def _filter(number: int, options: Cursor, version: int) -> Filter:
    for kind in _PLAIN:
        if number == kind.id:
            return kind()
    for compressor in (*_COMPRESSORS, *_DIFFERENCES):
        if number == compressor.id:
            return _compressor(compressor, options, version)
    for windowed in _WINDOWED:
        if number == windowed.id:
            return windowed(options.u32("window"))
    if number == FloatScale.id:
        return FloatScale(options.f64("scale"), options.f64("offset"), options.u64("width"))
    if number in (_WEBP, _WEBP_IN_DOCS):
        raise UnsupportedError(f"{options.file}: the WebP filter ({number}) is not supported")
    raise ArrayFormatError(f"unknown filter {number}", file=options.file, field="filter pipeline")


def _compressor(kind: type[Compressor], options: Cursor, version: int) -> Filter:
    options.u8("compressor")
    level = options.i32("compression level")
    if not issubclass(kind, _DIFFERENCES):
        return kind(level)
    stored = version >= _REINTERPRET_SINCE[kind.id]
    reinterpret = Datatype.parse(options.u8("reinterpret"), "reinterpret") if stored else Datatype.ANY
    return kind(level, None if reinterpret is Datatype.ANY else reinterpret)


def decode_chunk(
    steps: Sequence[tuple[Filter, ChunkContext]], metadata: memoryview, data: Octets
) -> tuple[memoryview, Octets]:
    """Undo the filters of a chunk, the last one first."""
    for step, context in reversed(steps):
        metadata, data = step.decode(metadata, data, context)
    return metadata, data


def encode_chunk(steps: Sequence[tuple[Filter, ChunkContext]], data: Octets) -> tuple[bytes, Octets]:
    """Apply the filters to a chunk, the first one first."""
    metadata = b""
    for step, context in steps:
        metadata, data = step.encode(metadata, data, context)
    return metadata, data
