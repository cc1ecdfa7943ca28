"""Checking an array: every section and tile decoded, bounds, checksums, statistics and files compared."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pyqbeast.core.arguments import check_type
from pyqbeast.core.errors import FormatError, UnsupportedError
from pyqbeast.core.html import block_html, first_rows_html
from pyqbeast.core.secrets import without_secrets
from pyqbeast.core.visible import counted
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.format.column import numbers, present
from pyqbeast.tiledb.format.domain import MBRs
from pyqbeast.tiledb.format.field import Field, FileKind
from pyqbeast.tiledb.format.rtree import leaves_of
from pyqbeast.tiledb.format.schema import Layout
from pyqbeast.tiledb.format.statistics import has_bounds, tile_statistics
from pyqbeast.tiledb.read.array import Array
from pyqbeast.tiledb.read.fragment import Fragment
from pyqbeast.tiledb.read.fragment_metadata import METADATA_FILE
from pyqbeast.tiledb.read.order import last_of_equals, row_major, sort_keys
from pyqbeast.tiledb.read.prune import has_trusted_bounds, trusted_tiles
from pyqbeast.tiledb.read.tile_data import read_column
from pyqbeast.tiledb.write.global_order import are_inside, is_in_global_order

#: Sums of floats depend on the order of adding. They may differ by this share of the sum of magnitudes.
_SUM_TOLERANCE = 1e-9

#: So far sums of whole numbers stay in their range in any order.
_SUMS_BELOW = 2.0**63

#: Before this version the statistics of dense tiles count their padding.
_DENSE_SINCE = 16


@dataclass(frozen=True)
class ArrayProblem:
    """Something that is wrong with an array.

    Attributes:
        file: the file or fragment.
        problem: what is wrong, in words.
    """

    file: str
    problem: str


@dataclass
class VerifyReport:
    """What a check found. `str()` tells it to a person.

    Attributes:
        uri: the array.
        fragments, tiles, cells, bytes: what was checked; padding of dense fragments counts as no cells.
        problems: what is wrong.
    """

    uri: str
    fragments: int = 0
    tiles: int = 0
    cells: int = 0
    bytes: int = 0
    problems: list[ArrayProblem] = dataclasses.field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def summary(self) -> str:
        """How much is wrong, and what was checked, as a line."""
        checked = (counted(getattr(self, f"{noun}s"), noun) for noun in ("fragment", "tile", "cell", "byte"))
        return f"{'ok' if self.ok else counted(len(self.problems), 'problem')}: {', '.join(checked)}"

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-able data."""
        return asdict(self) | {"ok": self.ok}

    def __str__(self) -> str:
        return "\n".join([*(f"{each.file}: {each.problem}" for each in self.problems), self.summary])

    def _repr_html_(self) -> str:
        rows = [(each.file, each.problem) for each in self.problems]
        table = first_rows_html("problem", ("file", "problem"), rows)
        return block_html(f"{self.uri}: {self.summary}", table)


def verify(array: Array) -> VerifyReport:
    """Check the fragments of an array.

    Decoding checks the bounds of sections and tiles and every checksum. Beyond that: data files have the sizes
    that footers state, R-trees and statistics are those of the cells (as far as these can be trusted at all),
    coordinates lie in the domain, in their order and each once, texts are UTF-8, days are dates, and conditions,
    metadata and enumerations can be read.

    Raises:
        InvalidInputError: it is no array that `open_array` gave.
    """
    check_type(array, Array, "verify takes an array, as open_array gives it")
    report = VerifyReport(without_secrets(array.uri))
    for name in ("metadata", "enumerations", "deletions"):
        with _noting(report, name):
            getattr(array, name)
    try:
        fragments = array.fragments
    except (FormatError, UnsupportedError) as error:
        report.problems.append(ArrayProblem("fragments", str(error)))
        return report
    for fragment in fragments:
        with _noting(report, fragment.path):
            _verify_fragment(fragment, report)
    return report


@contextmanager
def _noting(report: VerifyReport, file: str) -> Iterator[None]:
    """Puts an error into the report, under its own file or this one."""
    try:
        yield
    except ArrayFormatError as error:
        text = ": ".join(part for part in (error.field, error.problem) if part)
        report.problems.append(ArrayProblem(error.file or file, text))
    except (FormatError, UnsupportedError) as error:
        report.problems.append(ArrayProblem(file, str(error)))


def _verify_fragment(fragment: Fragment, report: VerifyReport) -> None:
    report.fragments += 1
    tiles = np.arange(fragment.tile_count)
    report.tiles += tiles.size
    report.cells += fragment.cell_count
    report.problems += [ArrayProblem(fragment.path, text) for text in _file_problems(fragment)]
    report.bytes += fragment.footer.data_bytes
    _ = fragment.statistics, fragment.processed_conditions
    columns: dict[str, list[pa.Array]] = {}
    for name, (field, *_) in fragment.fields.items():
        if fragment.footer.dense and field.is_dimension:
            continue
        with _noting(report, fragment.files_of(name)[FileKind.FIXED].path):
            parts = _parts(fragment, name, tiles)
            for part in parts:
                present(part, field)
            columns[name] = parts
            report.problems += [
                ArrayProblem(fragment.metadata_path, f"{name}: {text}")
                for text in _statistics_problems(fragment, field, parts)
            ]
    if not fragment.footer.dense and all(d.name in columns for d in fragment.schema.dimensions):
        report.problems += [
            ArrayProblem(fragment.metadata_path, text)
            for text in (*_rtree_problems(fragment, columns), *_coordinate_problems(fragment, columns))
        ]


def _parts(fragment: Fragment, name: str, tiles: np.ndarray[Any, np.dtype[np.intp]]) -> list[pa.Array]:
    """The raw cells of each tile."""
    whole = read_column(fragment, name, tiles)
    ends = np.cumsum(fragment.tile_cells(tiles)).tolist()
    return [whole[a:b] for a, b in zip([0, *ends], ends, strict=False)]


def _file_problems(fragment: Fragment) -> Iterator[str]:
    """Files that are missing, of another size than stated, or not known."""
    stored = {entry.name: entry.size for entry in fragment.store.entries(fragment.path)}
    expected: dict[str, int | None] = {METADATA_FILE: None}
    for column, (field, *_) in fragment.fields.items():
        if not (fragment.footer.dense and field.is_dimension):
            expected |= {file.name: file.size for file in fragment.files_of(column).values()}
    for name, size in expected.items():
        if name not in stored:
            if size != 0:
                yield f"{name} is missing"
        elif None not in (size, stored[name]) and size != stored[name]:
            yield f"{name} has {stored[name]} bytes where the footer says {size}"
    for name in sorted(stored.keys() - expected.keys()):
        yield f"{name} belongs to no column"


def _rtree_problems(fragment: Fragment, columns: dict[str, list[pa.Array]]) -> Iterator[str]:
    tree, dimensions = fragment.rtree, fragment.schema.dimension_fields
    if tree.leaves is None:
        return
    expected = leaves_of(columns, dimensions)
    for i, dimension in enumerate(dimensions):
        if dimension.is_rounded:
            continue
        for stored, true in (
            (tree.leaves.lows[i], expected.lows[i]),
            (tree.leaves.highs[i], expected.highs[i]),
        ):
            for tile in np.flatnonzero(stored != true)[:1]:
                yield f"R-tree: the range of tile {tile} in {dimension.name} is not that of its cells"
    for upper, lower in itertools.pairwise(tree.levels):
        if not _covers(upper, lower, tree.fanout):
            yield "R-tree: a node does not cover its children"
    domain = fragment.footer.non_empty_domain
    if domain is not None and domain != tree.leaves.around():
        yield "the non-empty domain is not that of the tiles"


def _coordinate_problems(fragment: Fragment, columns: dict[str, list[pa.Array]]) -> Iterator[str]:
    """Cells that readers do not find, or find twice; those that merge fragments rely on the order of the cells."""
    schema, fields = fragment.schema, fragment.schema.dimension_fields
    if any(field.is_rounded for field in fields) or not fragment.tile_count:
        return
    cells = {field.name: pa.concat_arrays(columns[field.name]) for field in fields}
    outside = [d.name for d in schema.dimensions if d.domain and not are_inside(cells[d.name], d.domain)]
    yield from (f"a coordinate of {name} is not in its domain" for name in outside)
    # Cells of several times may have the same coordinates.
    if not schema.allows_duplicates and not fragment.footer.has_timestamps:
        keys = sort_keys(list(cells.values()), fields)
        if not last_of_equals(keys, row_major(keys)).all():
            yield "two cells have the same coordinates, and the array does not allow duplicates"
    if schema.cell_order is not Layout.HILBERT and not outside and not is_in_global_order(cells, schema):
        yield "the cells are not in global order"


def _covers(upper: MBRs, lower: MBRs, fanout: int) -> bool:
    parents = np.arange(len(lower)) // max(fanout, 1)
    if len(upper) != parents[-1] + 1:
        return False
    sides = zip(upper.lows, upper.highs, lower.lows, lower.highs, strict=True)
    return all(bool((ul[parents] <= ll).all() and (uh[parents] >= lh).all()) for ul, uh, ll, lh in sides)


def _statistics_problems(fragment: Fragment, field: Field, parts: list[pa.Array]) -> Iterator[str]:
    """Stored statistics that do not agree with the cells. Statistics that readers cannot trust are skipped."""
    if field.name.startswith("__") or (fragment.footer.dense and fragment.footer.version < _DENSE_SINCE):
        return
    if fragment.grid is None:
        wrong = list(_disagreements(fragment, field, parts))
    else:
        inner = [_without_padding(fragment, part, tile) for tile, part in enumerate(parts)]
        wrong = list(_disagreements(fragment, field, inner))
        # TileDB counts the padding of dense tiles where it consolidates, and does not where it writes.
        also = set(_disagreements(fragment, field, parts)) if wrong else set()
        wrong = [each for each in wrong if each in also]
    first_tiles: dict[str, int] = {}
    for label, tile in wrong:
        first_tiles.setdefault(label, tile)
    yield from (label.format(tile=tile) for label, tile in first_tiles.items())


def _disagreements(fragment: Fragment, field: Field, parts: list[pa.Array]) -> Iterator[tuple[str, int]]:
    """What is wrong, and in which tile, if these are the cells of each tile that statistics are about."""
    true = tile_statistics(parts, field)
    nulls = fragment.tile_null_counts(field.name)
    # Of dense tiles that are written in part TileDB counts what it fills up by bytes, if cells have no least value.
    are_counted = field.has_counted_nulls and (fragment.grid is None or has_bounds(field))
    if are_counted and nulls is not None and nulls.values.size == len(parts):
        for tile in np.flatnonzero(nulls.values != true.null_counts.values).tolist():
            yield "null counts are not those of the cells", tile
    if not has_trusted_bounds(field) or field.is_var or field.is_dimension:
        return
    mins, maxs, sums = (
        fragment.tile_mins(field.name),
        fragment.tile_maxs(field.name),
        fragment.tile_sums(field.name),
    )
    if mins is None or maxs is None or sums is None:
        return
    if not len(mins.typed(field)) == len(maxs.typed(field)) == sums.values.size == len(parts):
        yield f"there is not one least value, greatest value and sum for each of {len(parts)} tiles", 0
        return
    usable = np.array([len(part) > part.null_count for part in parts], dtype=bool)
    usable &= trusted_tiles(fragment, field)
    for label, stored, expected in (("least", mins, true.mins), ("greatest", maxs, true.maxs)):
        for tile in np.flatnonzero(usable & (stored.typed(field) != expected.typed(field))).tolist():
            yield f"the {label} value of tile {{tile}} is not that of its cells", tile
    of_tiles, true_of_tiles = sums.typed(field).tolist(), true.sums.typed(field).tolist()
    for tile in np.flatnonzero(usable).tolist():
        if not _same_sum(of_tiles[tile], true_of_tiles[tile], parts[tile], field):
            yield "the sum of tile {tile} is not that of its cells", tile


def _same_sum(stored: float, true: float, part: pa.Array, field: Field) -> bool:
    if stored == true:
        return True
    values = numbers(part.drop_null()).astype(np.float64)
    magnitude = float(np.abs(values).sum())
    if field.datatype.is_float:
        return math.isclose(stored, true, rel_tol=0, abs_tol=_SUM_TOLERANCE * magnitude)
    # A sum that leaves the range on the way depends on the order.
    return magnitude >= _SUMS_BELOW


def _without_padding(fragment: Fragment, part: pa.Array, tile: int) -> pa.Array:
    grid = fragment.grid
    assert grid is not None
    _, inside, _ = next(grid.overlaps(grid.domain, np.array([tile])))
    return part.take(pa.array(grid.cell_numbers(inside).reshape(-1)))
