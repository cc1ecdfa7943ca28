"""The page of an indexed table."""

from __future__ import annotations

import numpy as np
from bokeh.models import Model

from pyqbeast.core.html import table_html
from pyqbeast.core.visible import counted
from pyqbeast.plot.draw import charts, parts
from pyqbeast.plot.draw.data import table_data
from pyqbeast.plot.draw.page import PageParts
from pyqbeast.plot.draw.texts import rows_text, share_text, size_text, time_text
from pyqbeast.plot.gather.answers import Answers
from pyqbeast.plot.gather.fractions import FIRST_SHOWN, FRACTIONS
from pyqbeast.plot.gather.levels import levels_of
from pyqbeast.plot.gather.table import TablePicture

#: Cubes and versions that a table lists, at the most.
_MOST_ROWS = 200


def table_page(picture: TablePicture) -> PageParts:
    """The parts of the page of a table."""
    sections = [_reads(picture)]
    drawn: dict[str, Model] = {"reads": charts.reads_chart(picture.files.opened(picture.fractions)[1])}
    if picture.trees:
        levels = levels_of(picture.trees[0])
        sections += [_tree(picture), _map(picture), _levels(picture)]
        drawn["tree"] = charts.tree_chart(max(int(tree.depth.max()) for tree in picture.trees))
        drawn["map"] = charts.cubes_chart()
        drawn["levels"] = charts.levels_chart(levels)
    history = charts.history_charts(picture.history)
    sections.append(_history(picture, list(history)))
    drawn |= {f"history{at}": chart for at, chart in enumerate(history.values())}
    if picture.answers and picture.answers.series:
        sections.append(_answers(picture.answers))
        drawn["answers"] = charts.answers_chart(picture.answers)
    return PageParts(
        picture.path.rstrip("/").rpartition("/")[2] or picture.path,
        picture.path,
        _facts(picture),
        _controls(picture),
        sections,
        drawn,
        table_data(picture),
    )


def _facts(picture: TablePicture) -> dict[str, str]:
    files = picture.files
    facts = {
        "Version": f"{picture.version:,}",
        "Files": f"{len(files.size):,}, {size_text(files.size.sum())}",
        "Rows": rows_text(int(np.nansum(files.rows)), int(np.isnan(files.rows).sum())),
        "Indexed by": ", ".join(picture.columns),
    }
    if picture.trees:
        newest = picture.trees[0]
        facts["Cubes"] = (
            f"{len(newest.depth):,} of {counted(newest.revision.cube_size, 'row')}, "
            f"{counted(int(newest.depth.max()) + 1, 'level')}"
        )
    return facts | {"Files without an index": f"{picture.unindexed_files:,}"}


def _controls(picture: TablePicture) -> str:
    ordered = {each.column for each in picture.files.ranges}
    others = [name for name in picture.columns if name.rpartition(":")[0] not in ordered]
    note = "A range skips files by the smallest and largest values in the log, as Delta does."
    if others:
        note += (
            f" No range of {', '.join(others)}: its values have no bounds in the log, or all are the same."
        )
    return parts.controls(
        "What is read",
        "Choose a sample and ranges of values. The pictures light up what they read.",
        parts.slider("fraction", "Sample", len(FRACTIONS) - 1, FRACTIONS.index(FIRST_SHOWN)),
        picture.files.ranges,
        note,
    )


def _reads(picture: TablePicture) -> parts.Section:
    counts, shares = picture.files.opened(picture.fractions)
    whole = picture.files.size.sum()
    rows = [
        (share_text(fraction), int(count), size_text(share * whole), share_text(share))
        for fraction, count, share in zip(FRACTIONS, counts, shares, strict=True)
    ]
    return parts.Section(
        "What a fraction costs",
        "A sample of a fraction opens the files that hold its rows. The closer the line is to the dotted one, the "
        "fewer bytes are read in vain.",
        {"reads": "share of the bytes that each fraction of the rows opens"},
        table_html("Files that samples open", ("fraction", "files", "bytes", "share of the bytes"), rows),
    )


def _tree(picture: TablePicture) -> parts.Section:
    tree = picture.trees[0]
    first = np.argsort(tree.depth, kind="stable")[:_MOST_ROWS]
    rows = [
        (
            tree.names[at] or "root",
            int(tree.depth[at]),
            int(tree.rows[at]),
            share_text(tree.fill[at]),
            share_text(tree.weight[at]),
        )
        for at in first
    ]
    caption = (
        f"The first {len(rows):,} of {len(tree.depth):,} cubes, level by level (revision {tree.revision.id})"
    )
    colours = {"fill": "Fill: rows by cube size", "weight": "Weight: the fraction it is kept up to"}
    legend = parts.tree_legend({"fill": ("empty", "150 % and more"), "weight": ("0.001 % and less", "100 %")})
    inputs = f'<div class="tools">{parts.choice_of_values("colour", "Colour", colours)}{legend}</div>'
    return parts.Section(
        "The tree",
        "Each stretch is a cube, below the cube that it is a part of, and as wide as the rows that it and the cubes "
        "below it hold. Cubes that the sample and the ranges do not read are pale." + _about_deleted(picture),
        {"tree": "the cubes of the tree, level by level"},
        table_html(caption, ("cube", "level", "rows", "fill", "keeps weights up to"), rows),
        inputs,
    )


def _about_deleted(picture: TablePicture) -> str:
    """What cubes count beside the rows of the table, where it has such."""
    has_deleted = picture.history[-1].deleted_rows > 0
    return " Cubes count the deleted rows that files still hold." if has_deleted else ""


def _map(picture: TablePicture) -> parts.Section:
    points = picture.points
    shown = (
        f"The points are {points.rows.num_rows:,} rows of the lowest weights, as far as the sample has them."
    )
    text = (
        "The space of the indexed columns, cut into cubes: the deeper the level, the more rows lie there. "
        + (f"There are no points: {points.problem}." if points.problem else shown)
        + _about_deleted(picture)
    )
    others = []
    if len(picture.trees) > 1:
        names = [f"{tree.revision.id}, {len(tree.depth):,} cubes" for tree in picture.trees]
        others.append(parts.choice("tree-choice", "Revision (also of the tree)", names))
    rows = [
        (level.depth, level.cubes, level.rows, share_text(0.5**level.depth))
        for level in levels_of(picture.trees[0])
    ]
    return parts.Section(
        "Cubes and rows",
        text,
        {"map": "cubes in two of the dimensions, with sampled rows"},
        table_html(
            "The cubes of each level", ("level", "cubes", "rows", "side of a cube, of the whole"), rows
        ),
        parts.map_inputs(picture.axes[0], *others, parts.map_legend("root", "deepest level")),
    )


def _levels(picture: TablePicture) -> parts.Section:
    rows = [
        (level.depth, level.cubes, level.rows, share_text(level.fill), *map(share_text, level.weights))
        for level in levels_of(picture.trees[0])
    ]
    columns = (
        "level",
        "cubes",
        "rows",
        "mean fill",
        "smallest weight",
        "first quarter",
        "half",
        "third quarter",
        "largest",
    )
    return parts.Section(
        "Weights by level",
        "A cube keeps the lightest rows that reach it, up to its weight, and hands the others down. Weights that grow "
        "evenly from level to level let every fraction stop early.",
        {"levels": f"weights of the cubes of each level, revision {picture.trees[0].revision.id}"},
        table_html("Weights of the cubes, as fractions of all weights", columns, rows),
    )


def _history(picture: TablePicture, labels: list[str]) -> parts.Section:
    rows = [
        (
            each.version,
            time_text(each.timestamp),
            each.operation,
            each.files,
            size_text(each.bytes),
            rows_text(each.rows, each.uncounted_files),
            share_text(each.unindexed_share),
            each.deleted_rows,
        )
        for each in reversed(picture.history[-_MOST_ROWS:])
    ]
    columns = ("version", "time (UTC)", "operation", "files", "bytes", "rows", "unindexed", "deleted rows")
    return parts.Section(
        "History",
        "The table by version, as far back as its log tells. Unindexed files are read by every sample; optimize with "
        "revision=0 indexes them, and drops deleted rows.",
        {f"history{at}": label for at, label in enumerate(labels)},
        table_html(f"The last {len(rows):,} versions, newest first", columns, rows),
    )


def _answers(answers: Answers) -> parts.Section:
    rows = [
        (
            name,
            share_text(step.fraction),
            size_text(step.bytes_read),
            *map(_number, (step.value, step.low, step.high)),
        )
        for name, steps in answers.series.items()
        for step in steps
    ]
    names = {name: name for name in answers.series}
    return parts.Section(
        "An answer and its bounds",
        f"Each step reads more rows, and the bounds close in on the exact answer. Each bound holds with "
        f"{answers.confidence:.4g}; the exact query opens {size_text(answers.exact_bytes)}.",
        {"answers": "the estimate and its bounds after each step"},
        table_html("Steps", ("number", "fraction", "bytes read", "estimate", "low", "high"), rows),
        f'<div class="tools">{parts.choice_of_values("answer", "Number", names)}</div>',
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.6g}"
