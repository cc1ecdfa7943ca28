"""The deletion vectors of a table, file by file, read without Spark."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from functools import partial
from urllib.parse import unquote

from pyqbeast.core.arguments import check_type
from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.location import Location, location_text
from pyqbeast.deletion_vectors import vector_rules
from pyqbeast.deletion_vectors.vector import DeletionVector, read_from
from pyqbeast.deletion_vectors.vector_files import FsspecStore, Store
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.descriptor import DeletionVectorDescriptor
from pyqbeast.delta_log.live_file import LiveFile
from pyqbeast.delta_log.reader import Snapshot, read_snapshot


@dataclasses.dataclass(frozen=True)
class FileVector:
    """What a table's log says about the deleted rows of one live file.

    `storage` is the storage letter of its vector (`u`, `i`, `p`), None without one. `physical_rows` counts
    the rows in the file, deleted ones included; it and `deleted_share` (0 to 1) are None where the log does
    not surely say.
    """

    path: str
    storage: str | None
    cardinality: int
    physical_rows: int | None
    deleted_share: float | None


def file_vectors(snapshot: Snapshot) -> list[FileVector]:
    """One `FileVector` for each live file of `snapshot`, in the order of their paths.

    Raises `FormatError` for a vector that counts more rows than its file has. No vector is opened for this.
    """
    check_type(snapshot, Snapshot, "file_vectors takes a snapshot, as read_snapshot gives it")
    return [_file_vector(file) for file in snapshot.files]


def deleted_rows(
    table: Location, file: Location, *, storage_options: locations.Options = None
) -> DeletionVector:
    """The deleted rows of one live file of `table`: an empty vector where it has none.

    `file` is what `find_file` takes. `storage_options` go to fsspec, but for a vector in another store than the
    table's. Raises `InvalidInputError` for a file that is not live, `FormatError` for
    a vector that is broken or reaches beyond the file's rows.
    """
    files = {live.path: live for live in read_snapshot(table, storage_options=storage_options).files}
    place = partial(locations.place_in_fsspec, table=table, storage_options=storage_options)
    live, store = files[find_file(file, files, table, place)], FsspecStore(table, storage_options)
    return read_vector(live.deletion_vector, live.path, live.surely_stored, table, store)


def read_vector(
    descriptor: DeletionVectorDescriptor | None,
    file: str,
    rows: int | None,
    table: Location,
    store: Store,
) -> DeletionVector:
    """The vector of a data file of `table` that stores `rows` rows (None if unknown); empty without one.

    `store` is what the table lies in.

    Raises, naming the file, `FormatError` for a vector that is broken or reaches beyond the rows, and
    `InvalidInputError` for one in a store that fsspec does not know.
    """
    if descriptor is None:
        return DeletionVector()
    try:
        vector = read_from(descriptor, table, store)
    except (FormatError, InvalidInputError) as error:
        raise type(error)(f"{file}: {error}") from error
    if wrong := vector_rules.beyond_file(vector.max_row_index, rows):
        raise FormatError(f"{file}: {wrong}")
    return vector


def find_file(
    file: Location, live: Iterable[str], table: Location, place: Callable[[str], locations.Place]
) -> str:
    """The path among `live`, as the log of `table` has them, that `file` names.

    `file` is that path, the same without URL encoding, or the whole location of the file, as Spark's
    `_metadata.file_path` has it. `place` tells where a location is. Raises `InvalidInputError` where none of them is
    meant.
    """
    name = location_text(file)
    paths = list(live)
    of_log = {path: path for path in paths}
    of_storage = {unquote(path): path for path in paths}
    for spelled in (name, locations.hadoop_path(name)):
        if spelled in of_log:
            return spelled
    below, decoded = _below(name, location_text(table), place)
    # The log encodes names, and storage has them as they are: `a%20b` there is another file than `a%20b` here. So a
    # name is looked for first where it is spelled like that.
    for path, known in (
        (below, of_log), (decoded, of_storage), (name, of_storage), (below, of_storage),
    ):  # fmt: skip
        if path is not None and path in known:
            return known[path]
    raise InvalidInputError(f"{name!r} is no live file of the table at {table}; `pyqbeast dv` lists them")


def _below(file: str, table: str, place: Callable[[str], locations.Place]) -> tuple[str | None, str | None]:
    """The path below the table of a file's whole location, as it is and URL-decoded; None for another location."""
    if not locations.is_absolute(file):
        return None, None
    store, root = place(table)
    root = root.rstrip("/") + "/"
    try:
        places = [place(each) for each in (file, unquote(file))]
    except InvalidInputError:
        return None, None  # a name with a colon
    as_it_is, decoded = (
        path.removeprefix(root) if of == store and path.startswith(root) else None for of, path in places
    )
    return as_it_is, decoded


def _file_vector(file: LiveFile) -> FileVector:
    vector, rows = file.deletion_vector, file.surely_stored
    cardinality = file.deleted
    if wrong := vector_rules.too_many(cardinality, rows):
        raise FormatError(f"{file.path}: {wrong}")
    share = None if rows is None else cardinality / rows if rows else 0.0
    return FileVector(file.path, vector.storage_type if vector else None, cardinality, rows, share)
