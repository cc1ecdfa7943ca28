"""An image of a table or an array for reports, drawn by Matplotlib: PNG or SVG, light."""

from __future__ import annotations

import io
import os
import threading
import warnings
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import rcParams, style
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from pyqbeast.core.visible import counted, visible
from pyqbeast.plot.draw.colours import BLUE, GREEN, ORANGE
from pyqbeast.plot.draw.fonts import about_missing, families, missing_letters
from pyqbeast.plot.draw.texts import log_ticks, share_text, size_text, unit_of
from pyqbeast.plot.gather.array import ArrayPicture, Side
from pyqbeast.plot.gather.axes import Axis
from pyqbeast.plot.gather.fractions import FRACTIONS
from pyqbeast.plot.gather.levels import levels_of
from pyqbeast.plot.gather.table import TablePicture
from pyqbeast.plot.gather.tree import TreePicture

#: Rectangles of more cubes are drawn as pixels in an SVG too, which would be too large otherwise.
_MOST_SHAPES = 5_000
#: The least side of a tile that is drawn, as a part of the axis: a few pixels.
_LEAST_SIDE = 0.006
#: The most parts into which labels cut an axis.
_MOST_PARTS = 5
#: Points between two labels, and how they slope where they have too little room: in degrees.
_BETWEEN_LABELS, _SLOPE = 9, 20
#: What an axis keeps of its length when the layout finds place for the title and for labels.
_SURE_LENGTH = 0.85
#: Points of an image's title.
_TITLE_SIZE = 13
#: What differs from Matplotlib's own defaults. What the user has set is for the user's figures: formulas by LaTeX fail
#: on names, and a setting may put parts of an SVG into files of their own.
_STYLE: dict[str, Any] = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "font.size": 9,
    # A dollar in a name begins no formula.
    "text.parse_math": False,
    # Who looks at an SVG may have letters that this machine lacks, and can search for them.
    "svg.fonttype": "none",
    # Without random names and a date, the same table gives the same image.
    "svg.hashsalt": "pyqbeast",
}
#: Held while an image is drawn: Matplotlib's settings and Python's warnings are the same for all threads, and two that
#: put back what they have found would leave each other's for good.
_drawing = threading.RLock()
# Nobody draws while a process forks: who drew would neither free the lock in the new one nor put back the settings.
if hasattr(os, "register_at_fork"):  # on Windows nothing forks
    os.register_at_fork(
        before=_drawing.acquire, after_in_parent=_drawing.release, after_in_child=_drawing.release
    )
_PERCENT = FuncFormatter(lambda share, _: share_text(share))


def image_bytes(picture: TablePicture | ArrayPicture, kind: str) -> bytes:
    """The image in a format of Matplotlib's: `png` or `svg`."""
    written = io.BytesIO()
    with _drawing, missing_letters() as letters, style.context(["default", _settings()]):
        is_table = isinstance(picture, TablePicture)
        figure = Figure(figsize=(13, 8) if is_table else (8, 6.5), layout="constrained")
        if isinstance(picture, TablePicture):
            _draw_table(figure, picture)
        else:
            _draw_array(figure, picture)
        figure.savefig(written, format=kind, dpi=120, metadata={"Date": None} if kind == "svg" else None)
    if letters and kind != "svg":
        warnings.warn(about_missing(letters), stacklevel=3)
    return written.getvalue()


def _settings() -> dict[str, Any]:
    """What an image is drawn by where that differs from Matplotlib's own defaults."""
    return {**_STYLE, "font.family": families()}


def _draw_table(figure: Figure, picture: TablePicture) -> None:
    files = picture.files
    name = picture.path.rstrip("/").rpartition("/")[2] or picture.path
    least = "at least " if np.isnan(files.rows).any() else ""
    _entitle(
        figure,
        f"{name}, version {picture.version:,}: {least}{counted(int(np.nansum(files.rows)), 'row')} in "
        f"{counted(len(files.size), 'file')}, {size_text(files.size.sum())}",
        f"indexed by {', '.join(picture.columns)}",
    )
    rows: list[Any] = [
        ["tree"] * 4 + ["map"] * 4,
        ["reads"] * 2 + ["levels"] * 2 + ["map"] * 4,
        ["files"] * 2 + ["size"] * 2 + ["share"] * 2 + ["deleted"] * 2,
    ]
    parts = figure.subplot_mosaic(rows, height_ratios=(3, 3, 2))
    if picture.trees:
        _draw_tree(parts["tree"], picture.trees[0])
        _draw_map(parts["map"], picture)
        _draw_levels(parts["levels"], picture.trees[0])
    else:
        for empty in ("tree", "map", "levels"):
            parts[empty].text(0.5, 0.5, "no cubes yet", ha="center", transform=parts[empty].transAxes)
    _draw_reads(parts["reads"], picture)
    history = picture.history
    unit, divisor = unit_of(max(each.bytes for each in history))
    versions = [each.version for each in history]
    for name, title, values in (
        ("files", "Files by version", [each.files for each in history]),
        ("size", f"Size in {unit}", [each.bytes / divisor for each in history]),
        ("share", "Bytes without an index", [each.unindexed_share for each in history]),
        ("deleted", "Deleted rows", [each.deleted_rows for each in history]),
    ):
        _draw_history(parts[name], title, versions, values)
    parts["share"].yaxis.set_major_formatter(_PERCENT)


def _draw_tree(axes: Axes, tree: TreePicture) -> None:
    axes.set_title("The tree: cubes by level, coloured by their fill")
    depth = tree.depth.astype(float)
    sides = (tree.begin, depth + 0.05, tree.end, depth + 0.95)
    shapes = _rectangles(axes, sides, np.minimum(1.5, tree.fill), "cividis")
    shapes.set_clim(0, 1.5)
    axes.set(xlim=(0, 1), ylim=(int(tree.depth.max()) + 1, 0), xlabel="rows of the table", ylabel="level")
    axes.set_yticks(np.arange(int(tree.depth.max()) + 1) + 0.5, map(str, range(int(tree.depth.max()) + 1)))
    axes.xaxis.set_major_formatter(_PERCENT)
    axes.figure.colorbar(shapes, ax=axes, label="rows by cube size", format=_PERCENT, pad=0.01, aspect=12)


def _draw_map(axes: Axes, picture: TablePicture) -> None:
    tree, sides = picture.trees[0], picture.axes[0]
    across, up = 0, min(1, len(sides) - 1)
    axes.set_title("Cubes and rows of the lowest weights")
    order = np.argsort(tree.depth, kind="stable")[: _MOST_SHAPES * 4]
    length = 0.5 ** tree.depth[order].astype(float)
    low_x, low_y = tree.lows[across][order], tree.lows[up][order]
    _rectangles(
        axes,
        (low_x, low_y, low_x + length, low_y + length),
        tree.depth[order].astype(float),
        "Blues",
        "white",
    ).set_clim(-1, 2 * float(tree.depth.max()) + 1)
    if picture.points.rows.num_rows:
        places = picture.points.coordinates(tree.revision)
        axes.scatter(places[across], places[up], s=3, color=ORANGE, linewidths=0, rasterized=True)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    _label(axes, sides[across], sides[up])


def _draw_levels(axes: Axes, tree: TreePicture) -> None:
    levels = levels_of(tree)
    axes.set_title("Weights by level")
    depths = [level.depth for level in levels]
    low, first, middle, third, high = zip(*(level.weights for level in levels), strict=True)
    axes.vlines(depths, low, high, color=BLUE)
    axes.vlines(depths, first, third, color=BLUE, linewidth=8, alpha=0.5)
    axes.plot(depths, middle, "_", color=ORANGE, markersize=16, markeredgewidth=2.5)
    least = max(1e-7, min(low) / 2)
    axes.set(yscale="log", xlabel="level", ylim=(least, 1.5), xlim=(depths[0] - 0.5, depths[-1] + 0.5))
    axes.set_yticks(log_ticks(least))
    axes.yaxis.set_minor_formatter("")
    axes.yaxis.set_major_formatter(_PERCENT)
    axes.xaxis.set_major_locator(_whole_numbers())


def _draw_reads(axes: Axes, picture: TablePicture) -> None:
    axes.set_title("What a fraction costs")
    opened = picture.files.opened(picture.fractions)[1]
    axes.plot(FRACTIONS, FRACTIONS, ":", color=GREEN, label="as many bytes as rows")
    axes.step(
        FRACTIONS, np.maximum(opened, FRACTIONS[0]), where="post", color=BLUE, linewidth=2, label="opened"
    )
    axes.set(xscale="log", yscale="log", xlabel="fraction of the rows", ylabel="share of the bytes")
    axes.set_xticks([1e-4, 1e-2, 1])
    for side in (axes.xaxis, axes.yaxis):
        side.set_major_formatter(_PERCENT)
    axes.legend(fontsize="small", loc="lower right")


def _draw_history(axes: Axes, title: str, versions: list[int], values: Sequence[float]) -> None:
    axes.set_title(title)
    if len(versions) <= 60:
        axes.bar(versions, values, color=BLUE, width=min(0.7, len(versions) / 12))
        axes.set_xlim(versions[0] - 0.7, versions[-1] + 0.7)
    else:
        axes.step(versions, values, where="post", color=BLUE)
    axes.set(xlabel="version", ylim=(0, 1.1 * max(values) or 1))
    axes.xaxis.set_major_locator(_whole_numbers())
    if not any(values):
        axes.set_yticks([0])
    elif all(isinstance(value, int) for value in values):
        axes.yaxis.set_major_locator(_whole_numbers())


def _whole_numbers() -> MaxNLocator:
    """Places of ticks for what is counted, also where there is one."""
    return MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True, min_n_ticks=1)


def _draw_array(figure: Figure, picture: ArrayPicture) -> None:
    name = picture.uri.rstrip("/").rpartition("/")[2]
    tiles = picture.tiles
    _entitle(
        figure,
        f"{name}: {picture.kind} array of {int(tiles.rows.sum()):,} cells in {len(tiles.size):,} tiles of "
        f"{len(picture.fragments):,} fragments, {size_text(tiles.size.sum())}",
    )
    axes = figure.subplots()
    across, up = picture.sides[0], picture.sides[min(1, len(picture.sides) - 1)]
    (left, right), (bottom, top) = (_widened(side) for side in (across, up))
    shapes = _rectangles(axes, (left, bottom, right, top), picture.owners.astype(float), "cividis", "white")
    shapes.set_alpha(0.6)
    axes.autoscale_view()
    axes.set_title("Tiles by fragment: the newer, the lighter")
    _label(axes, across.axis, up.axis)


def _widened(side: Side) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where rectangles begin and end around their first and last cells, none of them too narrow to be seen."""
    lows, highs = side.lows, side.highs
    least = _LEAST_SIDE * float(np.max(highs) - np.min(lows)) if len(lows) else 0.0
    more = np.maximum(side.half_cell, (least - (highs - lows)) / 2)
    return lows - more, highs + more


def _rectangles(
    axes: Axes,
    sides: Sequence[NDArray[np.float64]],
    values: NDArray[np.float64],
    colours: str,
    edge: str = "none",
) -> PolyCollection:
    """Rectangles, given left, bottom, right and top of each."""
    left, bottom, right, top = sides
    corners: Any = np.stack([left, bottom, right, bottom, right, top, left, top], axis=1).reshape(-1, 4, 2)
    shapes = PolyCollection(corners, array=values, cmap=colours, edgecolors=edge, linewidths=0.3)
    shapes.set_rasterized(len(values) > _MOST_SHAPES)
    axes.add_collection(shapes)
    return shapes


def _label(axes: Axes, across: Axis, up: Axis) -> None:
    parts = _parts_between(across, axes)
    width, height = _size(axes)
    for side, axis, most, length in (
        (axes.xaxis, across, parts or _MOST_PARTS, width),
        (axes.yaxis, up, _MOST_PARTS, height),
    ):
        chosen: list[int] = []
        least = (axis.ticks[-1] - axis.ticks[0]) / most
        for at, place in enumerate(axis.ticks):
            if not chosen or place - axis.ticks[chosen[-1]] >= least:
                chosen.append(at)
        side.set_ticks([axis.ticks[at] for at in chosen], [visible(axis.labels[at]) for at in chosen])
        side.set_label_text(_shortened(visible(axis.name), _SURE_LENGTH * length, rcParams["axes.labelsize"]))
    if not parts:
        for label in axes.get_xticklabels():
            label.set(rotation=_SLOPE, rotation_mode="anchor", horizontalalignment="right")


def _parts_between(across: Axis, axes: Axes) -> int:
    """Into how many parts labels may cut a horizontal axis without lying over each other; 0 where two are too long."""
    longest = max(_width(visible(text), rcParams["xtick.labelsize"]) for text in across.labels)
    width, _ = _size(axes)
    # The first and the last label stick out by half of theirs, and the axis becomes as much narrower.
    parts = min(_MOST_PARTS, int((width - longest) / (longest + _BETWEEN_LABELS)))
    return parts if parts > 1 else 0


def _entitle(figure: Figure, *texts: str) -> None:
    """Give a figure a title of these texts, each on lines of its own that are not wider than the figure."""
    # Matplotlib wraps too, but takes dollars for formulas when it measures.
    width = 0.95 * 72 * figure.get_figwidth()
    lines = [line for text in texts for line in _wrapped(visible(text), width, _TITLE_SIZE)]
    figure.suptitle("\n".join(lines), fontsize=_TITLE_SIZE)


def _size(axes: Axes) -> tuple[float, float]:
    """Width and height in points."""
    inches = axes.get_window_extent().transformed(axes.figure.dpi_scale_trans.inverted())
    return 72 * inches.width, 72 * inches.height


def _width(text: str, size: float | str) -> float:
    """How many points a text takes in a size of Matplotlib's."""
    return text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0]


def _shortened(text: str, width: float, size: float | str) -> str:
    """A text that is not wider than so many points. What does not fit is left out of its middle."""
    if _width(text, size) <= width:
        return text

    def short(kept: int) -> str:
        return f"{text[: (kept + 1) // 2]}…{text[len(text) - kept // 2 :]}"

    fitting = bisect_right(range(len(text)), width, key=lambda kept: _width(short(kept), size))
    return short(max(0, fitting - 1))


def _wrapped(text: str, width: float, size: float | str) -> list[str]:
    """The lines of a text, each of as many words as fit into so many points; a word that does not is shortened."""
    lines: list[str] = []
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines else ""
        if lines and _width(joined, size) <= width:
            lines[-1] = joined
        else:
            lines.append(_shortened(word, width, size))
    return lines
