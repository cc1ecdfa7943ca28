"""An indexed table as data for a picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyqbeast.approximate.estimate.outcome import Outcome
from pyqbeast.core.location import Location
from pyqbeast.core.secrets import without_secrets
from pyqbeast.core.visible import visible
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.history import VersionFigures, read_history
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.plot.gather.answers import Answers, answers_of
from pyqbeast.plot.gather.axes import Axis, tree_axes
from pyqbeast.plot.gather.files import FileArrays, files_of
from pyqbeast.plot.gather.fractions import Fractions
from pyqbeast.plot.gather.points import Points, points_of
from pyqbeast.plot.gather.tree import TreePicture, trees_of
from pyqbeast.scanning.scan import Scan
from pyqbeast.scanning.scanned_rows import ScannedRows


@dataclass(frozen=True)
class TablePicture:
    """A version of a table at a glance.

    Attributes:
        path: where it lies.
        version: the version.
        columns: the indexed columns as `columnsToIndex` names them: `name:kind`.
        fractions: what the fractions of its rows mean.
        files: what a scan may open.
        unindexed_files: how many of all live files are outside of every index.
        trees: of its revisions, the newest first.
        axes: for each tree its dimensions.
        points: a few rows.
        history: its versions up to this one.
        answers: how an estimate got better, if one was given.
    """

    path: str
    version: int
    columns: tuple[str, ...]
    fractions: Fractions
    files: FileArrays
    unindexed_files: int
    trees: list[TreePicture]
    axes: list[tuple[Axis, ...]]
    points: Points
    history: list[VersionFigures]
    answers: Answers | None


def gather_table(
    path: Location,
    version: int | None = None,
    estimates: Outcome | Iterable[Outcome] = (),
    storage_options: locations.Options = None,
) -> TablePicture:
    """What there is to see of a version of a table, by default the newest. See `pyqbeast.plot.page`."""
    index = IndexedSnapshot.read(path, version, storage_options=storage_options)
    fractions = Fractions.of(index)
    files = files_of(index, fractions)
    trees = trees_of(index, fractions)
    scales = {each.column: each.scale for each in files.ranges}
    return TablePicture(
        visible(without_secrets(str(path))),
        index.snapshot.version,
        tuple(transformer.spec for transformer in index.revision().transformers),
        fractions,
        files,
        sum(not file.blocks for file in index.files),
        trees,
        [tree_axes(tree.revision, scales) for tree in trees],
        points_of(index, Scan(ScannedRows(index, storage_options)), fractions),
        read_history(index, storage_options),
        answers_of(estimates),
    )
