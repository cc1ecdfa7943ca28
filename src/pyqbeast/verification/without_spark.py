"""`verify` at the level of the log, for a table whose log Python reads."""

from __future__ import annotations

from collections.abc import Mapping

from pyqbeast.core.errors import UnsupportedError
from pyqbeast.core.format.constants import (
    BLOCK_REPLICATED,
    LEGACY_TAG_STATE,
    STATE_FLOODED,
    TAG_BLOCKS,
)
from pyqbeast.core.format.file_tags import FileTags
from pyqbeast.core.format.json_text import compact_json
from pyqbeast.core.format.logged_file import LoggedFile
from pyqbeast.core.format.stored_text import read_json
from pyqbeast.core.location import Location
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.delta_log.live_file import LiveFile
from pyqbeast.delta_log.log_entry import LogEntry
from pyqbeast.delta_log.reader import read_snapshot
from pyqbeast.verification.files_on_disk import files_on_disk
from pyqbeast.verification.log_checks import LoggedTable, check_log
from pyqbeast.verification.report import VerifyReport, untellable


def verify_log(table: Location, storage_options: locations.Options = None) -> VerifyReport:
    """Checks tags, revisions, statistics and what storage lists of the newest version of a table.

    Raises:
        TableNotFoundError: there is no table.
        NotIndexedError: there is one, and it is not indexed.
        FormatError: its log cannot be read. `QbeastTable.verify` finds out more where a file's entry is to blame.
        UnsupportedError: the table has something that is not read here.
        StorageError: its folder cannot be listed.
    """
    snapshot = read_snapshot(table, storage_options=storage_options, with_removed=True)
    index = IndexedSnapshot.of(table, snapshot)
    prunable = index.prunable_revisions
    try:
        index.replicated_cubes  # noqa: B018 (worked out here)
    except UnsupportedError as error:
        return untellable("log", error)
    entries = [_entry(index, *both) for both in zip(snapshot.files, index.files, strict=True)]
    on_disk, orphans = files_on_disk(table, snapshot, storage_options)
    tags = [
        FileTags(file.revision_id, index.replicated_cubes.true_blocks(file), file.problem)
        for file in index.files
    ]
    table_to_check = LoggedTable(
        index.revisions, index.physical_names, prunable, entries, tags, on_disk, orphans
    )
    found = check_log(table_to_check)
    problems = tuple(dict.fromkeys(found.problems))
    return VerifyReport("log", len(found.files), problems, tuple(found.notes))


def _entry(index: IndexedSnapshot, live: LiveFile, file: LoggedFile) -> LogEntry:
    if live.statistics is None and live.physical_rows is not None:
        raise UnsupportedError("a checkpoint has statistics as structs, which are not checked here")
    is_false = index.replicated_cubes.is_falsely_marked(file)
    vector = live.deletion_vector
    return LogEntry(
        file.path,
        file.size,
        file.rows,
        file.deleted,
        _unmarked(file.tags) if is_false else file.tags,
        is_false,
        live.statistics,
        vector.to_json() if vector else None,
    )


def _unmarked(tags: Mapping[str, str]) -> dict[str, str]:
    """The tags of a file without the marks of replicated blocks."""
    truth = dict(tags)
    if LEGACY_TAG_STATE in truth:
        truth[LEGACY_TAG_STATE] = STATE_FLOODED
    if TAG_BLOCKS in truth:
        blocks = read_json(truth[TAG_BLOCKS], f"tag {TAG_BLOCKS!r}")
        truth[TAG_BLOCKS] = compact_json([{**block, BLOCK_REPLICATED: False} for block in blocks])
    return truth
