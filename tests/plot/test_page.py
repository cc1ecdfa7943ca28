"""A page stands by itself, can be used without a mouse and without eyes, and shows hostile texts as texts."""

from __future__ import annotations

import functools
import json
import math
import os
import re
import shutil
from html.parser import HTMLParser
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from matplotlib.image import imread

from pyqbeast import InvalidInputError, NotIndexedError, StorageError, TableNotFoundError, plot
from pyqbeast.cli.app import app
from pyqbeast.plot.gather.table import gather_table
from pyqbeast.scanning.scan import scan
from pyqbeast.tiledb import ArraySchema, Datatype, attribute, create_array, dimension, write_array
from tests.deletion_vectors.tables import PROTOCOL, commit
from tests.plot.tables import table_of_blocks
from tests.scanning.tables import fields_of, indexed_add, indexed_table, metadata
from tests.tiledb.arrays import one_dimension


class Estimated(NamedTuple):
    """As much of an estimate as a page needs."""

    columns: list
    rows: list
    fraction: float
    bytes_read: int
    exact_bytes: int
    confidence: float
    choice: None = None

    def shown_rows(self, _most):
        return self.columns, self.rows


class Elements(HTMLParser):
    """The elements of a page: name, attributes, and the text of scripts and tables."""

    def __init__(self, html):
        super().__init__()
        self.found, self.texts = [], {}
        self._inside = None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._inside = dict(attrs).get("id", tag)

    def handle_data(self, data):
        self.texts[self._inside] = self.texts.get(self._inside, "") + data

    def of(self, *tags):
        return [attributes for tag, attributes in self.found if tag in tags]


@pytest.fixture(scope="module")
def made(golden):
    """The page of a golden table, which is made once."""
    return functools.cache(lambda name: plot.page(golden(name) / "table"))


@pytest.fixture(scope="module")
def html(made):
    return made("qbeast/a_linear2d").html


@pytest.fixture(scope="module")
def page(html):
    return Elements(html)


def test_it_loads_nothing(html, page):
    assert not [a for _, a in page.found if {"src", "srcset", "action", "data", "poster"} & set(a)]
    assert [a["href"] for _, a in page.found if "href" in a] == ["#content"]
    assert not page.of("link", "iframe", "img", "object", "embed")
    (policy,) = [a["content"] for a in page.of("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "http" not in policy
    assert not re.findall(r"@import|url\(", html[: html.index("</style>")])


def test_every_input_has_a_label(page):
    inputs = page.of("input", "select")
    assert len(inputs) == 8  # the sample, two ends of two ranges, colours, two dimensions
    assert {a["id"] for a in inputs} == {a["for"] for a in page.of("label")}
    assert all("aria-labelledby" in a for a in page.of("section"))


def test_every_chart_is_told_in_words_and_as_a_table(page):
    charts = [a for a in page.of("div") if a.get("class") == "chart"]
    data = json.loads(page.texts["data"])
    assert [a["id"] for a in charts] == [chart["target_id"] for chart in data["charts"]]
    for chart in charts:
        assert chart["aria-label"].startswith("Chart: ")
        assert chart["tabindex"] == "0"
    assert len(page.of("table")) == len(page.of("section")) == len(page.of("caption")) == 5
    assert {a["scope"] for a in page.of("th")} == {"col"}
    assert page.of("html")[0]["lang"] == "en"
    (result,) = [a for a in page.of("output") if a["id"] == "result"]
    assert result["aria-live"] == "polite"


def test_no_heading_is_empty(html, page):
    """Readers aloud jump from one to the next."""
    assert not re.findall(r"<(h\d)[^>]*></\1>", html)
    assert len(page.of("h3")) == 4  # the charts of the history, the only ones that stand together


def test_what_is_read_is_in_the_tables_too(html):
    assert re.search(r"<td[^>]*>1 %</td><td[^>]*>1</td><td[^>]*>28.2 kB</td><td[^>]*>3.97 %</td>", html)


@pytest.mark.slow
def test_hostile_names_are_texts(tmp_path):
    name = "</script><img src=x onerror=alert(1)>{{data}}&amp;"
    table = indexed_table(
        tmp_path / "</title><b>{{script}}", pa.table({"id": pa.array([1, 2]), name: ["a", "b"]})
    )
    answers = [Estimated([name, "n", "n_low", "n_high"], [(name, 1, 0.5, 2)], 0.5, 1, 2, 0.95)]
    page = Elements(plot.page(table, estimates=answers).html)
    assert not page.of("img", "b")
    assert len(page.of("script")) == 3
    data = json.loads(page.texts["data"])
    assert list(data["answers"]) == [f"n, {name} = {name}"]


def with_half_a_character(table):
    """JSON may hold it, in what a commit says of itself and in a column's name; UTF-8 has no place for it."""
    commit_0 = table / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in commit_0.read_text().splitlines()]
    for action in actions:
        if "commitInfo" in action:
            action["commitInfo"]["operation"] = "WRI\ud800TE"
        properties = action.get("metaData", {}).get("configuration", {})
        for key in [key for key in properties if key.startswith("qbeast.revision.")]:
            revision = json.loads(properties[key])
            revision["columnTransformers"][0]["columnName"] = "a\ud800"
            properties[key] = json.dumps(revision)
    commit_0.write_text("\n".join(map(json.dumps, actions)))
    return table


@pytest.mark.slow
def test_half_a_character_is_written_out(golden, tmp_path):
    table = shutil.copytree(golden("qbeast/a_linear2d") / "table", tmp_path / "t")
    page = plot.page(with_half_a_character(table), tmp_path / "a.html")
    written = (tmp_path / "a.html").read_text("utf-8")
    assert "<dd>a\\ud800:linear, b:linear</dd>" in written
    assert "WRI\\ud800TE" in written
    assert page._repr_html_().encode()


@pytest.mark.slow
def test_a_picture_in_the_home_directory(golden, tmp_path, monkeypatch):
    """A table or an array may be named by `~` too."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "~").mkdir()
    shutil.copytree(golden("qbeast/a_linear2d") / "table", tmp_path / "t")
    shutil.copytree(golden("tiledb/sp_multifrag") / "array", tmp_path / "x")
    plot.page("~/t", "~/a.html").save("~/b.html")
    plot.image("~/x", "~/a.svg")
    done = CliRunner().invoke(app, ["plot", "~/x", "--to", "~/c.html"])
    assert done.output.startswith(f"wrote {tmp_path / 'c.html'}, ")
    assert all((tmp_path / name).exists() for name in ("a.html", "b.html", "a.svg", "c.html"))
    assert not any((tmp_path / "~").iterdir())


@pytest.mark.slow
def test_a_picture_at_a_url(golden, tmp_path, monkeypatch):
    """The URL of a file is that file, as where it names a table: nothing in it is encoded. A store takes no picture."""
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    array = str(golden("tiledb/sp_multifrag") / "array")
    plot.Page("<html>").save(f"file://localhost{tmp_path}/a%20b.html")
    plot.page(array, f"file:{tmp_path}/b.html")
    plot.image(array, f"file://{tmp_path}/c.svg")
    done = CliRunner().invoke(app, ["plot", array, "--to", f"file://{tmp_path}/d.svg"])
    assert done.output.startswith(f"wrote {tmp_path / 'd.svg'}, ")
    assert all((tmp_path / name).exists() for name in ("a%20b.html", "b.html", "c.svg", "d.svg"))
    store = "s3://key:hidden@bucket/a"
    told = r"s3://key:\*\*\*@bucket/a.* is the URL of a store, .*: name a path"
    for write in (
        lambda: plot.Page("").save(f"{store}.html"),
        lambda: plot.page(array, f"{store}.html"),
        lambda: plot.image(array, f"{store}.svg"),
    ):
        with pytest.raises(InvalidInputError, match=told):
            write()
    done = CliRunner().invoke(app, ["plot", array, "--to", f"{store}.html"])
    assert (done.exit_code, bool(re.match(f"error: {told}", done.output))) == (1, True)
    assert not any((tmp_path / "cwd").iterdir())


@pytest.mark.slow
def test_an_image_shows_names_as_they_are(tmp_path):
    """A dollar begins no formula, and what neither XML nor UTF-8 may hold, and no font has, is written out."""
    name = "usd_$_\\x$ a\x01b\x1b"
    uri = str(tmp_path / f"{name}<b>&--")
    x, y = (dimension(each, Datatype.INT64, (0, 99)) for each in (name, f"<b>&--{name}"))
    create_array(uri, ArraySchema((x, y), (attribute("v", Datatype.INT32),)))
    write_array(uri, pa.table({x.name: [1, 2], y.name: [1, 2], "v": [1, 2]}))
    for ending in ("svg", "png"):
        plot.image(uri, tmp_path / f"image.{ending}")
    text_table = pa.table({"id": pa.array([1, 2]), name: [f"{name}1", f"<b>&--{name}2"]})
    plot.image(with_half_a_character(indexed_table(tmp_path / "$table$", text_table)), tmp_path / "table.svg")
    shown = "".join(ElementTree.parse(tmp_path / "table.svg").getroot().itertext())
    assert "$table$, version 0" in shown
    assert shown.count("a\\ud800") > 1  # in the title and on an axis
    shown = "".join(ElementTree.parse(tmp_path / "image.svg").getroot().itertext())
    for each in (x.name, y.name):
        assert each.replace("\x01", r"\x01").replace("\x1b", r"\x1b") in shown


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Datatype.INT32, Datatype.FLOAT64])
def test_an_image_shows_tiles_of_one_cell(tmp_path, kind):
    """Their first cell is their last one too, so that a rectangle between the two has no area."""
    uri = str(tmp_path / "a")
    x, y = (dimension(name, kind, (0, 9)) for name in "xy")
    create_array(uri, ArraySchema((x, y), (attribute("v", Datatype.INT32),), capacity=1))
    places = pa.array([n for n in range(10) for _ in range(10)]).cast(kind.arrow())
    write_array(uri, pa.table({"x": places, "y": [*range(10)] * 10, "v": pa.array(range(100), pa.int32())}))
    plot.image(uri, tmp_path / "image.png")
    seen = imread(tmp_path / "image.png")
    # A name is black, and a tile has a colour.
    assert (np.ptp(seen[..., :3], axis=2) > 0.1).sum() > 500
    tiles = json.loads(Elements(plot.page(uri).html).texts["data"])["trees"][0]
    assert tiles["half_cells"] == [0.5 if kind is Datatype.INT32 else 0.0] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("least", "most", "label"),
    [(-1.0, 1.0, "1.79769e+308"), (0.0, 0.99, "1.77972e+308"), (0.0, 1.0, "4.49423e+307")],
)
def test_tiles_near_the_largest_doubles(tmp_path, least, most, label):
    """The distance of two of them, and the margins of an axis, are beyond all doubles: nothing was drawn.

    The sum of a tile with the largest double of all may be that of any doubles, so nobody knows where it ends.
    """
    uri, largest = str(tmp_path / "a"), most * float(np.finfo(np.float64).max)
    sides = (
        dimension("x", Datatype.FLOAT64, (least * largest, largest)),
        dimension("y", Datatype.INT32, (0, 9)),
    )
    create_array(uri, ArraySchema(sides, (attribute("v", Datatype.INT32),), capacity=1))
    rows = {
        "x": [least * largest, 0.25 * largest, largest],
        "y": pa.array([1, 4, 7], pa.int32()),
        "v": pa.array([1, 2, 3], pa.int32()),
    }
    write_array(uri, pa.table(rows))
    plot.image(uri, tmp_path / "image.png")
    assert (np.ptp(imread(tmp_path / "image.png")[..., :3], axis=2) > 0.1).sum() > 100
    axis = json.loads(Elements(plot.page(uri).html).texts["data"])["trees"][0]["axes"][0]
    first, *_, last = axis["ticks"]
    assert math.isfinite(first - (last - first)), "the margin of `page.js` is less"
    assert math.isfinite(last + (last - first))
    assert axis["labels"][-1] == label


@pytest.mark.slow
def test_a_path_that_is_no_utf_8(tmp_path):
    uri = str(tmp_path / os.fsdecode(b"a\xff"))
    create_array(uri, one_dimension(attribute("v", Datatype.INT32)))
    write_array(uri, pa.table({"x": [1], "v": [1]}))
    plot.page(uri, tmp_path / "page.html")
    assert "a\\udcff" in (tmp_path / "page.html").read_text()
    plot.image(uri, tmp_path / "image.svg")


def test_an_answer_of_a_scan(golden):
    # With Bokeh, which takes over a second: not in each process that collects tests.
    from pyqbeast.plot.draw.data import table_data

    path = golden("qbeast/a_linear2d") / "table"
    estimate = scan(path).tolerance({"mean": ("b", "avg")}, error=0.05)
    (row,) = estimate.table.to_pylist()
    told = table_data(gather_table(path, estimates=[estimate]))["answers"]["mean"]
    assert (told["value"], told["low"], told["high"]) == (
        [row["mean"]],
        [row["mean_low"]],
        [row["mean_high"]],
    )
    assert told["fraction"] == [estimate.fraction]


@pytest.mark.slow
def test_an_answer_narrows_step_by_step(golden):
    steps = [
        Estimated(["day", "m", "m_low", "m_high"], rows, f, int(1000 * f), 1000, 0.95)
        for f, rows in [
            (0.1, [(1, 5.0, 4.0, 6.0)]),
            (1.0, [(1, 5.2, 5.2, 5.2), (2, 7.0, float("nan"), None)]),
        ]
    ]
    page = Elements(plot.page(golden("qbeast/a_linear2d") / "table", estimates=steps).html)
    answers = json.loads(page.texts["data"])["answers"]
    assert answers["m, day = 1"] == {
        "share": [0.1, 1.0],
        "fraction": [0.1, 1.0],
        "value": [5.0, 5.2],
        "low": [4.0, 5.2],
        "high": [6.0, 5.2],
    }
    assert (answers["m, day = 2"]["low"], answers["m, day = 2"]["high"]) == ([None], [None])
    assert [a["value"] for a in page.of("option") if "day" in a["value"]] == ["m, day = 1", "m, day = 2"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *(f"qbeast/{each}" for each in (
            "c_ts_decimal_nulls", "d_append_revisions", "e3_convert_only", "f2_quantiles_string", "i2_deleted_dv",
            "k_4d", "l3_empty_then_append", "l_constant_column",
        )),
        "qbeast_old/o3_replicated",  # an older format, with cubes that it holds twice
    ],
)  # fmt: skip
def test_pages_of_all_kinds_of_tables(made, name):
    data = Elements(made(name).html).texts["data"]
    assert json.loads(data)["charts"]
    assert json.loads(data)["trees"] or name == "qbeast/e3_convert_only"
    assert "NaN" not in data


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "sp_multifrag", "de_2d_row_row", "sp_strdim", "sp_datetime", "sp_empty", "de_1d", "sp_hilbert_mixed",
        "sp_int_extremes", "sp_alltypes",
    ],
)  # fmt: skip
def test_all_kinds_of_arrays(golden, tmp_path, name):
    path = golden(f"tiledb/{name}") / "array"
    page = plot.page(path, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == page.html
    data = Elements(page.html).texts["data"]
    assert json.loads(data)["charts"]
    assert "NaN" not in data
    plot.image(path, tmp_path / "image.png")
    assert (tmp_path / "image.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_table_without_rows(tmp_path):
    page = plot.page(table_of_blocks(tmp_path / "table", 0)).html
    assert json.loads(Elements(page).texts["data"])["trees"] == []
    plot.image(tmp_path / "table", tmp_path / "image.png")


@pytest.mark.slow
@pytest.mark.parametrize(
    "given", [{"version": 0}, {"estimates": [1]}, {"storage_options": {"key": "x"}}], ids=str
)
def test_an_array_has_nothing_of_what_only_tables_have(golden, tmp_path, given):
    uri = golden("tiledb/sp_multifrag") / "array"
    (name,) = given
    with pytest.raises(InvalidInputError, match=f"is a TileDB array, and {name} is for tables: leave it out"):
        plot.page(uri, **given)
    if name != "estimates":
        with pytest.raises(InvalidInputError, match=f"and {name} is for tables"):
            plot.image(uri, tmp_path / "image.svg", **given)
    assert plot.page(uri, version=None, estimates=[], storage_options={}).html


@pytest.mark.slow
def test_rows_that_the_log_does_not_count_are_told(tmp_path):
    parts = [pa.table({"id": pa.array(range(start, start + 20), pa.int64())}) for start in (0, 20)]
    adds = [indexed_add(tmp_path / f"{number}.parquet", part) for number, part in enumerate(parts)]
    del adds[1]["add"]["stats"], adds[1]["add"]["tags"]
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(parts[0].schema)), *adds)
    html = plot.page(tmp_path).html
    told = "at least 20; the log does not count the rows of 1 file"
    assert f"<dt>Rows</dt><dd>{told}</dd>" in html
    assert f"<td>{told}</td>" in html
    plot.image(tmp_path, tmp_path / "t.svg")
    assert "at least 20 rows in 2 files" in (tmp_path / "t.svg").read_text()


@pytest.mark.parametrize(("name", "sections"), [("i2_deleted_dv", 2), ("a_linear2d", 0)])
def test_deleted_rows_of_cubes_are_told(made, name, sections):
    assert (
        made(f"qbeast/{name}").html.count("Cubes count the deleted rows that files still hold.</p>")
        == sections
    )


@pytest.mark.slow
def test_an_older_version(golden):
    path = golden("qbeast/d_append_revisions") / "table"
    assert "<dt>Version</dt><dd>1</dd>" in plot.page(path, version=1).html
    with pytest.raises(InvalidInputError, match="version 9"):
        plot.page(path, version=9)


@pytest.mark.slow
def test_an_image_is_the_same_each_time(golden, tmp_path):
    path = golden("qbeast/a_linear2d") / "table"
    for name in ("one.svg", "two.svg"):
        plot.image(path, tmp_path / name)
    one = (tmp_path / "one.svg").read_text()
    assert one.startswith("<?xml")
    assert len(one) < 3_000_000
    assert one == (tmp_path / "two.svg").read_text()


def test_a_notebook_shows_the_page(made):
    page = made("qbeast/a_linear2d")
    (frame,) = Elements(page._repr_html_()).of("iframe")
    assert frame["srcdoc"] == page.html
    assert len(repr(page)) < 100


def test_what_cannot_be_drawn(golden, tmp_path, monkeypatch):
    with pytest.raises(TableNotFoundError, match="neither a Delta table nor a TileDB array at"):
        plot.page(tmp_path)
    with pytest.raises(NotIndexedError):
        plot.page(golden("qbeast/e1_convert_delta") / "table", version=0)
    path = golden("tiledb/sp_multifrag") / "array"
    with pytest.raises(StorageError, match=r"cannot be written to .*none"):
        plot.page(path, tmp_path / "none" / "page.html")
    with pytest.raises(StorageError, match=r"cannot be written to .*: embedded null"):
        plot.page(path, "a\0.html")
    for target in ("", 5, "file://host/page.html"):
        with pytest.raises(InvalidInputError):
            plot.Page("").save(target)

    def no_handles(*_):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("matplotlib.textpath.get_font", no_handles)
    with pytest.raises(StorageError, match=r"image of .*array cannot be drawn: .*Too many"):
        plot.image(path, tmp_path / "image.png")
    with pytest.raises(InvalidInputError, match=r"\.png or \.svg"):
        plot.image(path, tmp_path / "image.jpg")
    with pytest.raises(InvalidInputError, match=r"a page is HTML and is not written to .*a\.svg"):
        plot.page(path, tmp_path / "a.svg")
    for target in (0, b"", [], ""):
        with pytest.raises(InvalidInputError, match="neither a path nor a URL"):
            plot.page(path, target)
        with pytest.raises(InvalidInputError, match="neither a path nor a URL"):
            plot.image(path, target)
