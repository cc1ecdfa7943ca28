"""The status of the revision that a write extends, remembered from the last write of this process.

The tags of all files of a table are many, and a small append changes few of them. So the status of one version is kept,
and the next append adds the files of the commits since.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pyqbeast import bridge
from pyqbeast.core.format.constants import TAG_BLOCKS
from pyqbeast.core.format.file_tags import Block, parse_tags
from pyqbeast.core.otree.status import IndexStatus
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.delta_log.log_entry import LogEntry


class _Known(NamedTuple):
    """The status of a revision in one version of a table, which has so many live files."""

    table: str
    version: int
    files: int
    status: IndexStatus


_MOST_KNOWN = 8
_KNOWN: OrderedDict[str, _Known] = OrderedDict()


def status_of(log: bridge.TableLog, revision: Revision) -> IndexStatus:
    """The cubes that a revision holds in a version of a table. One Spark job, or none after another write."""
    path, version = log.path, log.version
    known = _KNOWN.pop(path, None)
    now = _followed(known, log, version) if known and known.status.revision == revision else None
    if now is None:
        files = log.files()
        status = IndexStatus.from_blocks(revision, _blocks((file.tags for file in files), revision))
        if any(map(_has_mark, files)):
            return status  # whether a mark is true can change with every file
        now = _Known(log.table_id, version, len(files), status)
    _KNOWN[path] = now
    while len(_KNOWN) > _MOST_KNOWN:
        _KNOWN.popitem(last=False)
    return now.status


def _followed(known: _Known, log: bridge.TableLog, version: int) -> _Known | None:
    """What is known of a version, once the files that came after it are added; None where this is not all."""
    added = log.added_since(known.version)
    if added is None or added.table != known.table or added.files != known.files + len(added.tags):
        return None
    status = (
        known.status.with_blocks(_blocks(added.tags, known.status.revision)) if added.tags else known.status
    )
    return _Known(known.table, version, added.files, status)


def _blocks(tags_of_files: Iterable[Mapping[str, str]], revision: Revision) -> Iterable[Block]:
    def dimensions_of(revision_id: int) -> int | None:
        return revision.dimensions if revision_id == revision.id else None

    return (block for tags in tags_of_files for block in parse_tags(tags, dimensions_of).blocks)


def _has_mark(file: LogEntry) -> bool:
    """Whether a block is marked as replicated, or was before the tags were read. No mark is found without its word."""
    return file.falsely_replicated or "true" in file.tags.get(TAG_BLOCKS, "")
