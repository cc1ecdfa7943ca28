"""The page of a TileDB array."""

from __future__ import annotations

from pyqbeast.core.html import table_html
from pyqbeast.plot.draw import charts, parts
from pyqbeast.plot.draw.data import array_data
from pyqbeast.plot.draw.page import PageParts
from pyqbeast.plot.draw.texts import size_text, time_text
from pyqbeast.plot.gather.array import ArrayPicture


def array_page(picture: ArrayPicture) -> PageParts:
    """The parts of the page of an array."""
    tiles = picture.tiles
    facts = {
        "Array": picture.kind,
        "Fragments": f"{len(picture.fragments):,}",
        "Tiles": f"{len(tiles.size):,}, {size_text(tiles.size.sum())}",
        "Cells": f"{int(tiles.rows.sum()):,}",
        "Dimensions": ", ".join(side.axis.name for side in picture.sides),
        "Attributes": ", ".join(picture.attributes) or "none",
    }
    inputs = parts.controls(
        "What a box reads",
        "Choose ranges of coordinates. The picture lights up the tiles that they read.",
        "",
        tiles.ranges,
        "A tile is read if the rectangle around its cells meets the box.",
    )
    return PageParts(
        picture.uri.rstrip("/").rpartition("/")[2],
        picture.uri,
        facts,
        inputs,
        [_map(picture)],
        {"map": charts.tiles_chart()},
        array_data(picture),
    )


def _map(picture: ArrayPicture) -> parts.Section:
    rows = [
        (each.name, time_text(each.start), time_text(each.end), each.tiles, each.cells, size_text(each.bytes))
        for each in picture.fragments
    ]
    columns = ("fragment", "from (UTC)", "to (UTC)", "tiles", "cells", "bytes")
    return parts.Section(
        "Fragments and tiles",
        "Each rectangle holds the cells of a tile (of a dense array the tile itself), in the colour of its fragment. A "
        "line is drawn around each fragment. Fragments that lie over each other are read together.",
        {"map": "rectangles of the tiles in two of the dimensions"},
        table_html("Fragments, oldest first", columns, rows),
        parts.map_inputs([side.axis for side in picture.sides], parts.legend("oldest fragment", "newest")),
    )
