"""A page in one file: what it shows, Bokeh's script and its own, and no address that a browser would load."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from bokeh.core.types import ID
from bokeh.embed import json_item
from bokeh.models import Model
from bokeh.resources import INLINE

from pyqbeast.core.html import escaped
from pyqbeast.plot.draw.parts import Section


@dataclass(frozen=True)
class PageParts:
    """What a page is made of.

    Attributes:
        title, path: what it shows, in short and in full.
        facts: figures by their names.
        controls: HTML of the inputs beside the sections.
        sections: in order.
        charts: by the names that sections have for them.
        data: what `page.js` needs.
    """

    title: str
    path: str
    facts: Mapping[str, str]
    controls: str
    sections: Sequence[Section]
    charts: Mapping[str, Model]
    data: Mapping[str, Any]


def page_html(parts: PageParts) -> str:
    """The page."""
    items = [json_item(chart, ID(f"chart-{name}")) for name, chart in parts.charts.items()]
    data = json.dumps({**parts.data, "charts": items}, separators=(",", ":"), allow_nan=False)
    filled = {
        "title": escaped(parts.title),
        "path": escaped(parts.path),
        "facts": "".join(
            f"<div><dt>{escaped(k)}</dt><dd>{escaped(v)}</dd></div>" for k, v in parts.facts.items()
        ),
        "controls": parts.controls,
        "sections": "".join(section.html() for section in parts.sections),
        # A script ends at `</`, wherever it stands.
        "data": data.replace("<", "\\u003c"),
        "bokeh": _bokeh(),
        "script": _own("page.js"),
        "css": _own("page.css"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: filled[found[1]], _own("page.html"))


@cache
def _own(name: str) -> str:
    return resources.files("pyqbeast.plot.draw").joinpath(name).read_text("utf-8")


@cache
def _bokeh() -> str:
    """Bokeh's script without its widgets and tables, which the page has no use for."""
    (script,) = [text for text in INLINE.clone(components=["bokeh"]).js_raw if len(text) > 100_000]
    return script
