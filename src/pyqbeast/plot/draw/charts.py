"""Charts of a page, by Bokeh. Those that depend on the page's inputs begin empty: `page.js` fills them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.models import (
    BasicTicker,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    LinearColorMapper,
    NumeralTickFormatter,
)
from bokeh.palettes import Blues256, Cividis256
from bokeh.plotting import figure
from numpy.typing import NDArray

from pyqbeast.delta_log.history import VersionFigures
from pyqbeast.plot.draw.colours import BLUE, GREEN, ORANGE
from pyqbeast.plot.draw.texts import log_ticks, unit_of
from pyqbeast.plot.gather.answers import Answers
from pyqbeast.plot.gather.fractions import FRACTIONS
from pyqbeast.plot.gather.levels import Level

#: From little to much, for every kind of eyes, without the darkest blues that a dark page swallows.
PALETTE = tuple(Cividis256[48:])
#: Of one hue, so that points can be seen over them, for light and for dark pages.
MAP_PALETTES = {"light": tuple(Blues256[235:70:-1]), "dark": tuple(Blues256[5:190])}
#: A figure of Bokeh's. It has more than its type tells.
Chart = Any
_TOOLS = "pan,wheel_zoom,box_zoom,reset,save"
#: What a cube tells of itself.
_CUBE = [
    ("cube", "@name"),
    ("level", "@level"),
    ("rows", "@rows{0,0}"),
    ("fill", "@fill{0.[0]%}"),
    ("keeps weights up to", "@weight{0.[0000]%}"),
]


def tree_chart(depth: int) -> Chart:
    """The cubes of a tree of this depth, a row a level, as wide as their share of the rows."""
    chart = _chart("rows of the table, by their place in the tree", "level", height=330, x_range=(0, 1))
    chart.y_range.start, chart.y_range.end = depth + 1, 0
    chart.yaxis.ticker = FixedTicker(ticks=[level + 0.5 for level in range(depth + 1)])
    chart.yaxis.major_label_overrides = {level + 0.5: str(level) for level in range(depth + 1)}
    chart.xaxis.formatter = NumeralTickFormatter(format="0.[000]%")
    chart.grid.visible = False
    _rectangles(chart, PALETTE, _CUBE, 1)
    return chart


def cubes_chart() -> Chart:
    """The map of a table. The deepest cube at a place is told, whose name begins with those that it is a part of."""
    return _map_chart(_CUBE, 1, MAP_PALETTES["light"])


def tiles_chart() -> Chart:
    """The map of an array. Tiles lie over each other, and the newest of them are told."""
    return _map_chart([("fragment", "@name"), ("cells of its tile", "@rows{0,0}")], 5, PALETTE)


def _map_chart(hover: Sequence[tuple[str, str]], most_told: int, palette: Sequence[str]) -> Chart:
    """Rectangles of two dimensions, points over them, and the box that was chosen."""
    chart = _chart("", "", height=520, x_range=(0, 1), y_range=(0, 1))
    chart.grid.visible = False
    for axis in (*chart.xaxis, *chart.yaxis):
        axis.ticker = FixedTicker(ticks=[])
    _rectangles(chart, palette, hover, most_told)
    lines = ColumnDataSource({"left": [], "right": [], "bottom": [], "top": []})
    chart.quad(source=lines, name="outlines", fill_alpha=0, line_color=BLUE, line_width=1.5)
    points = ColumnDataSource({"x": [], "y": []})
    chart.scatter(
        "x", "y", source=points, name="points", size=4, fill_color=ORANGE, line_color=None, alpha=0.75
    )
    box = ColumnDataSource({"left": [], "right": [], "bottom": [], "top": []})
    chart.quad(source=box, name="box", fill_alpha=0, line_color=ORANGE, line_width=2, line_dash="dashed")
    return chart


def reads_chart(opened: NDArray[np.float64]) -> Chart:
    """The share of the bytes that each fraction opens, beside the share that it would be at best."""
    least = max(1e-6, min(FRACTIONS[0], *(share for share in opened if share > 0), 1.0))
    chart = _chart(
        "fraction of the rows",
        "share of the bytes",
        height=280,
        x_axis_type="log",
        y_axis_type="log",
        x_range=(FRACTIONS[0], 1),
        y_range=(least, 1.1),
    )
    for axis in (*chart.xaxis, *chart.yaxis):
        axis.formatter = NumeralTickFormatter(format="0.[000]%")
    source = ColumnDataSource({"fraction": FRACTIONS, "share": np.maximum(opened, least).tolist()})
    chart.line(
        [least, 1],
        [least, 1],
        line_dash="dotted",
        line_width=2,
        color=GREEN,
        legend_label="as many bytes as rows",
    )
    line = chart.step(
        "fraction", "share", source=source, mode="after", line_width=2.5, color=BLUE, legend_label="opened"
    )
    now = ColumnDataSource({"x": [], "y": []})
    chart.scatter("x", "y", source=now, name="now", size=11, color=ORANGE, legend_label="chosen")
    chart.add_tools(_hover(line, [("fraction", "@fraction{0.[0000]%}"), ("opened", "@share{0.[000]%}")]))
    chart.legend.location = "bottom_right"
    return chart


def levels_chart(levels: Sequence[Level]) -> Chart:
    """The weights of each level's cubes: from the smallest to the largest, half of them in the bar."""
    low, first, middle, third, high = (
        list(each) for each in zip(*(level.weights for level in levels), strict=True)
    )
    least = max(1e-7, min(low) / 2)
    chart = _chart("level", "weight", height=280, y_axis_type="log", y_range=(least, 1.3))
    chart.xaxis.ticker = FixedTicker(ticks=[level.depth for level in levels])
    chart.yaxis.formatter = NumeralTickFormatter(format="0.[00000]%")
    chart.yaxis.ticker = FixedTicker(ticks=log_ticks(least))
    source = ColumnDataSource(
        {
            "level": [level.depth for level in levels],
            "cubes": [level.cubes for level in levels],
            "low": np.maximum(low, least).tolist(),
            "high": high,
            "middle": middle,
            "first": [min(a, 0.98 * b) for a, b in zip(first, third, strict=True)],
            "third": third,
        }
    )
    chart.segment("level", "low", "level", "high", source=source, line_width=2, color=BLUE)
    bars = chart.vbar("level", 0.5, "third", "first", source=source, color=BLUE, alpha=0.5, line_color=BLUE)
    chart.scatter("level", "middle", source=source, marker="dash", size=30, line_width=3, color=ORANGE)
    figures = [("level", "@level"), ("cubes", "@cubes{0,0}"), ("middle", "@middle{0.[0000]%}")]
    chart.add_tools(_hover(bars, figures))
    return chart


def history_charts(history: Sequence[VersionFigures]) -> dict[str, Chart]:
    """Figures of the table by version, a chart each, by the names of their headings."""
    unit, divisor = unit_of(max(each.bytes for each in history))
    figures: dict[str, tuple[list[float], str]] = {
        "Files": ([each.files for each in history], "0,0"),
        f"Size in {unit}": ([each.bytes / divisor for each in history], "0,0.[00]"),
        "Share of the bytes without an index": ([each.unindexed_share for each in history], "0.[0]%"),
        "Deleted rows in the files": ([each.deleted_rows for each in history], "0,0"),
    }
    versions = [each.version for each in history]
    return {name: _by_version(versions, *of) for name, of in figures.items()}


def _by_version(versions: list[int], values: list[float], form: str) -> Chart:
    chart = _chart(
        "version",
        "",
        height=180,
        x_range=(versions[0] - 0.7, versions[-1] + 0.7),
        y_range=(0, 1.1 * max(values) or 1),
    )
    source = ColumnDataSource({"version": versions, "value": values})
    if len(versions) <= 60:
        drawn = chart.vbar("version", min(0.7, len(versions) / 12), "value", source=source, color=BLUE)
    else:
        drawn = chart.step("version", "value", source=source, mode="after", line_width=2, color=BLUE)
    chart.xaxis.ticker = BasicTicker(min_interval=1, num_minor_ticks=0)
    least = 1 if all(isinstance(value, int) for value in values) else 0
    chart.yaxis.ticker = (
        BasicTicker(desired_num_ticks=4, min_interval=least) if any(values) else FixedTicker(ticks=[0])
    )
    chart.xaxis.formatter = NumeralTickFormatter(format="0")
    chart.yaxis.formatter = NumeralTickFormatter(format=form)
    chart.add_tools(_hover(drawn, [("version", "@version"), ("value", f"@value{{{form}}}")]))
    return chart


def answer_columns(answers: Answers, name: str) -> dict[str, list[float | None]]:
    """The steps of one number, as the chart of an answer has them."""
    steps = answers.series[name]
    return {
        "share": [step.bytes_read / max(1, answers.exact_bytes) for step in steps],
        "fraction": [step.fraction for step in steps],
        "value": [step.value for step in steps],
        "low": [step.low for step in steps],
        "high": [step.high for step in steps],
    }


def answers_chart(answers: Answers) -> Chart:
    """The bounds of one number after each step."""
    chart = _chart("bytes read, by those of the exact query", "estimate and bounds", height=300)
    chart.xaxis.formatter = NumeralTickFormatter(format="0.[00]%")
    chart.yaxis.formatter = NumeralTickFormatter(format="0,0.[000000]")
    # Charts without a point do not know what to show.
    source = ColumnDataSource(answer_columns(answers, next(iter(answers.series))))
    chart.varea("share", "low", "high", source=source, name="answers", color=BLUE, alpha=0.2)
    chart.segment("share", "low", "share", "high", source=source, line_width=2, color=BLUE)
    chart.line("share", "value", source=source, line_width=2, color=ORANGE)
    points = chart.scatter("share", "value", source=source, size=8, color=ORANGE)
    shown = [(name, f"@{name}{{0,0.[000]}}") for name in ("value", "low", "high")]
    chart.add_tools(_hover(points, [*shown, ("fraction", "@fraction{0.[000]%}")]))
    return chart


def _chart(x: str, y: str, height: int, **how: Any) -> Chart:  # noqa: ANN401 (of a figure)
    chart = figure(
        tools=_TOOLS,
        sizing_mode="stretch_width",
        height=height,
        x_axis_label=x,
        y_axis_label=y,
        toolbar_location="right",
        **how,
    )
    chart.toolbar.logo = None
    chart.background_fill_alpha = chart.border_fill_alpha = 0
    chart.outline_line_color = None
    chart.toolbar.autohide = True
    return chart


def _rectangles(
    chart: Chart, palette: Sequence[str], hover: Sequence[tuple[str, str]], most_told: int
) -> None:
    fields = ("left", "right", "top", "bottom", "value", "alpha", "name", "level", "rows", "fill", "weight")
    source = ColumnDataSource({field: [] for field in fields})
    mapper = LinearColorMapper(palette=palette, low=0, high=1)
    drawn = chart.quad(
        source=source,
        name="cubes",
        line_width=0.5,
        fill_color={"field": "value", "transform": mapper},
        fill_alpha="alpha",
    )
    told = _hover(drawn, hover)
    # Those that lie over the others; also where the middle of one is out of sight, which Bokeh would point at.
    told.update(sort_by=[("level", "descending")], limit=most_told, point_policy="follow_mouse")
    chart.add_tools(told)


def _hover(drawn: Any, tooltips: Sequence[tuple[str, str]]) -> HoverTool:  # noqa: ANN401 (a renderer)
    return HoverTool(renderers=[drawn], tooltips=[*tooltips])
