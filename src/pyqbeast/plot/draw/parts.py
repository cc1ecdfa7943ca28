"""Parts of a page: its inputs, and its sections, each with a chart, what it means, and its numbers as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyqbeast.core.html import escaped
from pyqbeast.plot.draw.charts import MAP_PALETTES, PALETTE
from pyqbeast.plot.gather.axes import Axis
from pyqbeast.plot.gather.files import Range

_KEYS = "Arrow keys move it, plus and minus zoom, 0 shows all of it."


def _colours(palette: Sequence[str], kind: str = "") -> str:
    stops = ", ".join(palette[at * (len(palette) - 1) // 8] for at in range(9))
    return f'<i{kind} style="background: linear-gradient(to right, {stops})"></i>'


@dataclass(frozen=True)
class Section:
    """A heading, what it shows, inputs of its own, charts by their names with what each is, and a table.

    All texts but `inputs` and `table` are plain; those two are HTML.
    """

    title: str
    text: str
    charts: Mapping[str, str]
    table: str
    inputs: str = ""

    def html(self) -> str:
        """The section. Charts are put into it by their names."""
        are_many = len(self.charts) > 1
        charts = "".join(
            f"<figure>{f'<h3>{escaped(label)}</h3>' if are_many else ''}"
            f'<div class="chart" id="chart-{name}" tabindex="0" role="group" '
            f'aria-label="Chart: {escaped(label)}. {_KEYS} Its numbers are in the table below."></div></figure>'
            for name, label in self.charts.items()
        )
        kind = ' class="small"' if are_many else ""
        anchor = next(iter(self.charts))
        return (
            f'<section aria-labelledby="title-{anchor}"><h2 id="title-{anchor}">{escaped(self.title)}</h2>'
            f"<p>{escaped(self.text)}</p>{self.inputs}<div{kind}>{charts}</div>"
            f"<details><summary>Numbers of “{escaped(self.title)}”</summary>"
            f'<div class="scroll" tabindex="0" role="region" aria-label="Table: {escaped(self.title)}">'
            f"{self.table}</div></details></section>"
        )


def choice(name: str, label: str, options: Sequence[str], chosen: int = 0) -> str:
    """A labelled choice; the value of an option is its position."""
    return choice_of_values(name, label, {str(at): text for at, text in enumerate(options)}, chosen)


def choice_of_values(name: str, label: str, options: Mapping[str, str], chosen: int = 0) -> str:
    """A labelled choice among values with a text each."""
    inside = "".join(
        f'<option value="{escaped(value)}"{" selected" if at == chosen else ""}>{escaped(text)}</option>'
        for at, (value, text) in enumerate(options.items())
    )
    return f'<span><label for="{name}">{escaped(label)}</label> <select id="{name}">{inside}</select></span>'


def slider(name: str, label: str, last: int, value: int) -> str:
    """A labelled slider over the positions from 0 to `last`. The script says what its position means."""
    return (
        f'<label for="{name}">{escaped(label)}</label>'
        f'<input type="range" id="{name}" min="0" max="{last}" step="1" value="{value}">'
        f'<output class="value" id="{name}-value" for="{name}"></output>'
    )


def controls(title: str, text: str, fraction: str, ranges: Sequence[Range], note: str) -> str:
    """The inputs beside the sections, and what they lead to."""
    sides = "".join(
        f'<fieldset><legend>{escaped(each.column)}</legend><div class="range">'
        f"{slider(f'low-{at}', 'from', len(each.scale.values) - 1, 0)}"
        f"{slider(f'high-{at}', 'to', len(each.scale.values) - 1, len(each.scale.values) - 1)}</div></fieldset>"
        for at, each in enumerate(ranges)
    )
    return (
        f'<h2>{escaped(title)}</h2><p class="hint">{escaped(text)}</p>'
        '<output class="result" id="result" aria-live="polite"></output>'
        f'<p class="hint" id="problem" role="status"></p>{fraction}{sides}'
        '<div class="tools"><button type="button" id="reset">Start again</button></div>'
        f'<p class="hint">{escaped(note)}</p>'
    )


def tree_legend(texts: Mapping[str, tuple[str, str]]) -> str:
    """What the ends of the tree's colours mean, for each thing that they may stand for; the first is shown."""
    kept = "".join(
        f' data-{name}{end}="{escaped(text)}"'
        for name, ends in texts.items()
        for end, text in zip(("little", "much"), ends, strict=True)
    )
    little, much = next(iter(texts.values()))
    return (
        f'<span class="legend" id="legend"{kept}><span id="legend-little">{escaped(little)}</span>{_colours(PALETTE)}'
        f'<span id="legend-much">{escaped(much)}</span></span>'
    )


def map_legend(little: str, much: str) -> str:
    """What the ends of a map's colours mean, on a light and on a dark page."""
    colours = "".join(_colours(palette, f' class="{kind}"') for kind, palette in MAP_PALETTES.items())
    return f'<span class="legend">{escaped(little)}{colours}{escaped(much)}</span>'


def legend(little: str, much: str) -> str:
    """What the ends of the other colours mean."""
    return f'<span class="legend">{escaped(little)}{_colours(PALETTE)}{escaped(much)}</span>'


def map_inputs(axes: Sequence[Axis], *others: str) -> str:
    """The choice of a map's two dimensions."""
    names = [axis.name for axis in axes]
    chosen = [choice("x", "Across", names), choice("y", "Up", names, min(1, len(names) - 1))]
    return f'<div class="tools">{"".join([*others, *chosen])}<span class="hint" id="hidden" role="status"></span></div>'
