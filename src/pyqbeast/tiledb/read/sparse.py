"""Reading sparse arrays: tiles chosen, cells joined over fragments, deleted and overwritten ones dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyqbeast.core.errors import UnsupportedError
from pyqbeast.tiledb.format.column import Mask, filled, numbers, present, take
from pyqbeast.tiledb.format.domain import MBRs
from pyqbeast.tiledb.format.field import Field
from pyqbeast.tiledb.format.schema import DELETE_TIMESTAMP, TIMESTAMP, ArraySchema
from pyqbeast.tiledb.read.fragment import NOT_DELETED, Fragment
from pyqbeast.tiledb.read.order import last_of_equals, row_major, sort_keys
from pyqbeast.tiledb.read.predicate import box_mask
from pyqbeast.tiledb.read.prune import tiles_in_box, tiles_matching
from pyqbeast.tiledb.read.request import Deletion, Request, empty_table
from pyqbeast.tiledb.read.tile_data import naming_files, read_as, read_column, stored_field

Columns = dict[str, pa.Array]


@dataclass
class _Cells:
    """Raw columns of some cells, with the time of each and whether it is deleted."""

    columns: Columns
    times: npt.NDArray[np.uint64]
    deleted: Mask

    def take(self, rows: npt.NDArray[np.int64]) -> _Cells:
        columns = {name: take(column, rows) for name, column in self.columns.items()}
        return _Cells(columns, self.times[rows], self.deleted[rows])

    def filter(self, keep: Mask) -> _Cells:
        return self if keep.all() else self.take(np.flatnonzero(keep))


Selection = dict[Fragment, npt.NDArray[np.intp]]


def overwrites(fragments: Sequence[Fragment], schema: ArraySchema) -> bool:
    """Whether a cell of fragments of one group may hide another one of them."""
    return not schema.allows_duplicates and (
        len(fragments) > 1 or any(fragment.footer.has_timestamps for fragment in fragments)
    )


def choose_tiles(fragments: Sequence[Fragment], request: Request) -> Selection:
    """The tiles of each fragment that may hold cells that are asked for."""
    predicates = (*request.predicates, *request.hints)
    return {
        f: np.flatnonzero(tiles_in_box(f, request.box) & tiles_matching(f, predicates, request.schema))
        for f in fragments
    }


def _hiding_tiles(chosen: Selection, request: Request) -> Selection:
    """Of fragments that overwrite each other's cells the tiles of which coordinates alone are needed.

    A tile without matching cells may still hide older cells. Such a tile is dropped only if it lies apart from all
    tiles that are chosen.
    """
    kept = [(f, f.leaves.take(tiles).around()) for f, tiles in chosen.items() if tiles.size and f.leaves]
    boxes = MBRs.of([box for _, box in kept], request.schema.dimension_fields)
    shadows = {}
    for fragment, tiles in chosen.items():
        is_unmatched = tiles_in_box(fragment, request.box)
        is_unmatched[tiles] = False
        unmatched = np.flatnonzero(is_unmatched)
        leaves = fragment.leaves
        if leaves is None or not unmatched.size:
            continue
        # Of hundreds of fragments few are near, or the first few touch all that is left.
        apart = np.arange(unmatched.size)
        for number in np.flatnonzero(boxes.intersects(leaves.take(unmatched).around())):
            other, box = kept[number]
            if other is not fragment or fragment.footer.has_timestamps:
                apart = apart[~leaves.take(unmatched[apart]).intersects(box)]
                if not apart.size:
                    break
        shadows[fragment] = np.delete(unmatched, apart)
    return shadows


def read_group(fragments: Sequence[Fragment], request: Request, chosen: Selection | None = None) -> pa.Table:
    """The cells of fragments that may overwrite each other (or of a single one), in no particular order.

    Args:
        fragments: the fragments, oldest first.
        request: what is asked.
        chosen: the tiles to read, where the caller has divided them.
    """
    unique = overwrites(fragments, request.schema)
    shadows: Selection = {}
    if chosen is None:
        chosen = choose_tiles(fragments, request)
        shadows = _hiding_tiles(chosen, request) if unique else {}
    wanted = {f.name for f in request.columns} | {p.column for p in request.predicates}
    if unique or request.box is not None:
        wanted |= _dimension_names(request)
    parts = []
    for fragment in fragments:
        hiding, shown = shadows.get(fragment), chosen.get(fragment)
        if hiding is not None and hiding.size:
            part = _read_cells(fragment, request, hiding, _dimension_names(request))
            parts.append(_shadow(part, wanted, request.schema))
        if shown is not None and shown.size:
            parts.append(_read_cells(fragment, request, shown, wanted))
    if not parts:
        return empty_table(request)
    cells = _joined(parts)
    if unique:
        cells = _newest(cells, request)
    with naming_files(chosen.items(), request.schema):
        return _finish(cells.filter(~cells.deleted), request)


def _dimension_names(request: Request) -> set[str]:
    return {d.name for d in request.schema.dimensions}


def _read_cells(
    fragment: Fragment, request: Request, tiles: npt.NDArray[np.intp], wanted: set[str]
) -> _Cells:
    """Cells of a fragment's tiles that had been written by the end of the window."""
    pending = _pending(fragment, request)
    names = wanted.union(*(d.keeps.columns for d in pending))
    if not names & fragment.fields.keys():
        # One dimension is always read, because the number of cells in the footer is not believed by itself.
        names.add(request.schema.dimensions[0].name)
    count = int(fragment.tile_cells(tiles).sum())
    fields = {name: _field_of(fragment, request.schema, name) for name in names}
    current = request.schema.fields
    stored = {
        name: read_as(fragment, current[name], tiles)
        if name in current
        else read_column(fragment, name, tiles)
        for name in names
        if name in fragment.fields
    }
    # What is stored has shown that there are so many cells.
    columns = stored | {name: filled(fields[name], count) for name in wanted - stored.keys()}
    window, footer = request.window, fragment.footer
    times = np.full(count, fragment.name.start, dtype=np.uint64)
    deleted = np.zeros(count, dtype=bool)
    if footer.has_timestamps:
        times = numbers(read_column(fragment, TIMESTAMP, tiles)).astype(np.uint64)
    if footer.has_deletes:
        deletes = numbers(read_column(fragment, DELETE_TIMESTAMP, tiles)).astype(np.uint64)
        deleted = (deletes <= np.uint64(window.end)) & (deletes != np.uint64(NOT_DELETED))
    for deletion in pending:
        hit = times <= np.uint64(deletion.timestamp)
        deleted |= hit & ~deletion.keeps.evaluate(stored, fields, count)
    cells = _Cells({name: columns[name] for name in wanted}, times, deleted)
    if footer.has_timestamps:
        cells = cells.filter((times >= np.uint64(window.start)) & (times <= np.uint64(window.end)))
    return cells


def _pending(fragment: Fragment, request: Request) -> list[Deletion]:
    """The delete conditions that may concern the fragment's cells and were not applied when it was written."""
    due = [d for d in request.deletions if d.timestamp >= fragment.name.start]
    if not due:
        return []
    processed = {name.rsplit("/", 1)[-1] for name in fragment.processed_conditions.names}
    return [d for d in due if d.file not in processed]


def _field_of(fragment: Fragment, schema: ArraySchema, name: str) -> Field:
    """The column as the fragment has it, or as the array has it where the fragment is older than the column."""
    current = schema.fields.get(name)
    if name in fragment.fields:
        return stored_field(fragment, name, current)
    if current is None:
        raise UnsupportedError(f"a delete condition needs column {name!r}, which is no longer there")
    return current


def _shadow(cells: _Cells, wanted: set[str], schema: ArraySchema) -> _Cells:
    """Cells that hide older ones and count as deleted themselves. Columns that were not read hold nulls."""
    missing = wanted - cells.columns.keys()
    nulls = {name: pa.nulls(cells.times.size, schema.fields[name].raw_type) for name in missing}
    return _Cells(cells.columns | nulls, cells.times, np.ones(cells.times.size, dtype=bool))


def _joined(parts: list[_Cells]) -> _Cells:
    if len(parts) == 1:
        return parts[0]
    columns = {name: pa.concat_arrays([p.columns[name] for p in parts]) for name in parts[0].columns}
    times, deleted = [p.times for p in parts], [p.deleted for p in parts]
    return _Cells(columns, np.concatenate(times), np.concatenate(deleted))


def _newest(cells: _Cells, request: Request) -> _Cells:
    """One cell per coordinates: the one written last, and of those with the same time the last fragment's."""
    if (cells.times[1:] < cells.times[:-1]).any():
        cells = cells.take(np.argsort(cells.times, kind="stable"))
    dimensions = request.schema.dimension_fields
    keys = sort_keys([cells.columns[d.name] for d in dimensions], dimensions)
    order = row_major(keys)
    last = last_of_equals(keys, order)
    return cells.filter(last) if order is None else cells.take(order[last])


def _finish(cells: _Cells, request: Request) -> pa.Table:
    """The rows that were asked for, as readers get them."""
    keep = np.ones(cells.times.size, dtype=bool)
    if request.box is not None:
        keep &= box_mask(request.box, request.schema.dimension_fields, cells.columns)
    shown = {f.name: present(cells.columns[f.name], f) for f in request.columns}
    for predicate in request.predicates:
        column = predicate.column
        array = shown.get(column)
        keep &= predicate.mask(
            present(cells.columns[column], request.schema.fields[column]) if array is None else array
        )
    table = pa.table(list(shown.values()), names=list(shown))
    return table if keep.all() else table.take(pa.array(np.flatnonzero(keep)))
