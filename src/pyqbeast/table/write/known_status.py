"""The status of the revision that a write extends, remembered from the last write of this process.

The tags of all files of a table are many, and a small append changes few of them. So the status of one version is kept,
and the next append adds the files of the commits since. Either way the JVM sums the blocks up by cube, and Spark's
executors do so for a large table.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from pyqbeast import bridge
from pyqbeast.core.format.cube import CubeId, most_symbols
from pyqbeast.core.format.file_tags import Block, parse_tags
from pyqbeast.core.otree.status import IndexStatus
from pyqbeast.core.revisions.revision import Revision


class _Known(NamedTuple):
    """The status of a revision in one version of a table, which has so many live files."""

    table: str
    version: int
    committed: int
    files: int
    status: IndexStatus


_MOST_KNOWN = 8
_KNOWN: OrderedDict[str, _Known] = OrderedDict()


def status_of(log: bridge.TableLog, revision: Revision) -> IndexStatus:
    """The cubes that a revision holds in a version of a table. One Spark job, or none after another write."""
    path = log.path
    known = _KNOWN.pop(path, None)
    now = _followed(known, log) if known and known.status.revision == revision else None
    if now is None:
        nothing = IndexStatus.from_blocks(revision, ())
        now = _followed(_Known(log.table_id, bridge.NO_VERSION, 0, 0, nothing), log)
    if now is None:
        # A block is marked as replicated. Whether a mark is true can change with every file, so nothing is kept.
        dimensions = {revision.id: revision.dimensions}.get
        blocks = (block for file in log.files() for block in parse_tags(file.true_tags, dimensions).blocks)
        return IndexStatus.from_blocks(revision, blocks)
    _KNOWN[path] = now
    while len(_KNOWN) > _MOST_KNOWN:
        _KNOWN.popitem(last=False)
    return now.status


def _followed(known: _Known, log: bridge.TableLog) -> _Known | None:
    """What is known of a version, once the files that came after it are added; None where this is not all."""
    revision = known.status.revision
    added = log.added_since(known.version, known.committed, revision.id)
    if added is None or added.table != known.table or added.files != known.files + added.added:
        return None
    # A file with a cube that is deeper counts as not indexed. The JVM does not know the number of columns.
    deepest = most_symbols(revision.dimensions)
    blocks = [
        Block(CubeId.from_string(cube, revision.dimensions), low, high, rows)
        for cube, low, high, rows in added.cubes
        if len(cube) <= deepest
    ]
    status = known.status.with_blocks(blocks) if blocks else known.status
    return _Known(known.table, log.version, added.committed, added.files, status)
