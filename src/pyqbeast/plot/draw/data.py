"""What a page's script needs, as JSON: files, trees, axes and points; arrays of numbers are packed as base64."""

from __future__ import annotations

from typing import Any

from pyqbeast.plot.draw.charts import MAP_PALETTES, answer_columns
from pyqbeast.plot.draw.texts import packed, packed_shares
from pyqbeast.plot.gather.array import ArrayPicture
from pyqbeast.plot.gather.axes import Axis
from pyqbeast.plot.gather.files import FileArrays
from pyqbeast.plot.gather.fractions import FRACTIONS
from pyqbeast.plot.gather.table import TablePicture
from pyqbeast.plot.gather.tree import TreePicture


def table_data(picture: TablePicture) -> dict[str, Any]:
    """Of a table."""
    return {
        "palettes": MAP_PALETTES,
        "fractions": {"values": FRACTIONS, "problems": picture.fractions.problems},
        "files": _files(picture.files),
        "trees": [_tree(tree, axes, picture) for tree, axes in zip(picture.trees, picture.axes, strict=True)],
        "points_first_read": packed(picture.points.first_read, "u1"),
        "answers": {name: answer_columns(picture.answers, name) for name in picture.answers.series}
        if picture.answers
        else {},
    }


def array_data(picture: ArrayPicture) -> dict[str, Any]:
    """Of an array: its tiles take the places of cubes and of files."""
    return {
        "fractions": None,
        "palettes": None,
        "files": _files(picture.tiles),
        "trees": [
            {
                "owners": True,
                "axes": [_axis(side.axis, side.axis.name) for side in picture.sides],
                "names": " ".join(each.name for each in picture.fragments),
                "depth": packed(picture.owners, "u4"),
                "rows": packed(picture.tiles.rows, "f4"),
                "lows": [packed(side.lows, "f8") for side in picture.sides],
                "highs": [packed(side.highs, "f8") for side in picture.sides],
                "half_cells": [side.half_cell for side in picture.sides],
                "points": [],
            }
        ],
        "answers": {},
    }


def _files(files: FileArrays) -> dict[str, Any]:
    return {
        "size": packed(files.size, "f8"),
        "rows": packed(files.rows, "f8"),
        "first_read": packed(files.first_read, "u1"),
        "ranges": [
            {
                "column": each.column,
                "labels": each.scale.labels,
                "first": packed(each.first, "u1"),
                "last": packed(each.last, "u1"),
            }
            for each in files.ranges
        ],
    }


def _axis(axis: Axis, column: str) -> dict[str, Any]:
    return {
        "name": axis.name,
        "column": column,
        "ticks": axis.ticks.tolist(),
        "labels": axis.labels,
        "ordered": axis.is_ordered,
    }


def _tree(tree: TreePicture, axes: tuple[Axis, ...], picture: TablePicture) -> dict[str, Any]:
    places = picture.points.coordinates(tree.revision)
    return {
        "axes": [_axis(*each) for each in zip(axes, tree.revision.columns, strict=True)],
        "names": " ".join(tree.names),
        "depth": packed(tree.depth, "u1"),
        "rows": packed(tree.rows, "f4"),
        "fill": packed(tree.fill, "f4"),
        "weight": packed(tree.weight, "f4"),
        "begin": packed_shares(tree.begin),
        "end": packed_shares(tree.end),
        "first_read": packed(tree.first_read, "u1"),
        "lows": [packed(low, "f4") for low in tree.lows],
        "points": [packed(each, "f4") for each in places] if picture.points.rows.num_rows else [],
    }
