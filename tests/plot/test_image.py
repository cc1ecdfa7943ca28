"""What an image's axes say can be read."""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
import threading
import warnings
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from matplotlib import rc_context, rcParams
from matplotlib.figure import Figure

from pyqbeast import plot
from pyqbeast.plot.draw import fonts, image
from pyqbeast.plot.gather.array import gather_array
from pyqbeast.plot.gather.axes import Axis
from pyqbeast.plot.gather.table import gather_table
from pyqbeast.tiledb import ArraySchema, Datatype, attribute, create_array, dimension, write_array
from tests.scanning.tables import indexed_table


@pytest.mark.slow
@pytest.mark.parametrize("size", [(13, 8), (8, 6.5)])
@pytest.mark.parametrize("longest", [1, 6, 19, 25, 40])
def test_labels_do_not_lie_over_each_other(size, longest):
    places = np.arange(101) / 100
    labels = tuple(f"{at:0{longest}}"[-longest:] for at in range(101))
    up = Axis("y", places, labels[:1] * 101, is_ordered=True)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    image._label(axes, Axis("x", places, labels, is_ordered=True), up)
    figure.draw_without_rendering()
    shown = axes.get_xticklabels()
    assert len(shown) >= 3
    for one, other in itertools.pairwise(shown):
        before, behind = one.get_window_extent(), other.get_window_extent()
        if slope := one.get_rotation():
            assert (behind.x1 - before.x1) * np.sin(np.radians(slope)) > one.get_fontsize() * figure.dpi / 72
        else:
            assert not before.overlaps(behind)


@pytest.mark.slow
def test_what_is_counted_has_whole_numbers_on_its_axis(tmp_path):
    """Levels, files, and deleted rows, where there is one or two of them."""
    # Bokeh takes over a second to import: not in each process that collects tests.
    from pyqbeast.plot.draw import charts

    picture = gather_table(indexed_table(tmp_path, pa.table({"id": [1, 2, 3]})))
    axes = Figure().subplots()
    image._draw_levels(axes, picture.trees[0])
    assert whole_ticks(axes.get_xticks(), *axes.get_xlim()) == [0]
    for values in ([1], [0, 1, 2], [2]):
        axes = Figure().subplots()
        image._draw_history(axes, "Files", [*range(len(values))], values)
        assert whole_ticks(axes.get_yticks(), *axes.get_ylim())[:2] == [0, 1]
    files, size, *_ = charts.history_charts(picture.history).values()
    assert (files.yaxis.ticker.min_interval, size.yaxis.ticker.min_interval) == (1, 0)


@pytest.mark.parametrize(
    "name", ["k_4d", "c_ts_decimal_nulls", "f2_quantiles_string", "l_constant_column", "i2_deleted_dv"]
)
def test_the_map_of_a_table_tells_the_values_of_two_columns(golden, name):
    """Numbers, times, texts, and one value alone."""
    picture = gather_table(golden(f"qbeast/{name}") / "table")
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    image._draw_map(axes, picture)
    figure.draw_without_rendering()
    across, *others = picture.axes[0]
    up = others[0] if others else across
    for side, axis in ((axes.xaxis, across), (axes.yaxis, up)):
        assert side.get_label_text() == axis.name
        assert {label.get_text() for label in side.get_ticklabels()} <= {*axis.labels}
        assert side.get_ticklabels()


@pytest.mark.slow
def test_long_names_are_shown_within_the_image_and_their_axis(golden):
    """The title is wrapped, and what has no place on a line is left out of the middle of a name."""
    long = "pickup_location_id_" * 12
    picture = gather_table(golden("qbeast/a_linear2d") / "table")
    picture = dataclasses.replace(
        picture,
        path="many words " * 20,
        columns=["id:linear", f"{long}:linear", "$a {b:linear"],
        axes=tuple(tuple(dataclasses.replace(axis, name=long) for axis in axes) for axes in picture.axes),
    )
    figure = Figure(figsize=(13, 8), layout="constrained")
    image._draw_table(figure, picture)
    figure.draw_without_rendering()
    (title,) = figure.texts
    shown = title.get_window_extent()
    assert 0 <= shown.x0 < shown.x1 <= figure.bbox.width
    assert shown.y1 <= figure.bbox.height
    _, *last = title.get_text().split("indexed by ")
    assert re.fullmatch(r"id:linear,\npickup_location.*….*tion_id_:linear,\n\$a {b:linear", *last)
    (axes,) = [each for each in figure.axes if each.get_label() == "map"]
    whole = axes.get_window_extent()
    across, up = (side.label.get_window_extent() for side in (axes.xaxis, axes.yaxis))
    assert whole.x0 <= across.x0 < across.x1 <= whole.x1
    assert whole.y0 <= up.y0 < up.y1 <= whole.y1
    for label in (axes.get_xlabel(), axes.get_ylabel()):
        assert re.fullmatch("pickup_loc.*….*_id_", label)


def test_a_long_name_of_an_array_is_wrapped_from_its_figures(golden):
    figure = Figure(figsize=(8, 6.5), layout="constrained")
    picture = gather_array(str(golden("tiledb/sp_multifrag") / "array"))
    image._draw_array(figure, dataclasses.replace(picture, uri="s3://bucket/" + "name" * 100))
    (title,) = figure.texts
    figure.draw_without_rendering()
    assert title.get_window_extent().x0 >= 0
    assert re.match(r"(name)+.*….*(name)+:\nsparse array of", title.get_text())


def whole_ticks(ticks, low, high):
    inside = [tick for tick in ticks if low <= tick <= high]
    assert all(tick == int(tick) for tick in inside)
    return inside


@pytest.fixture
def of_many_letters(tmp_path):
    """An array whose dimension has a name in a script that the font which Matplotlib brings along lacks."""
    name, uri = "".join(chr(0x13000 + at) for at in range(12)), str(tmp_path / "array")
    create_array(
        uri, ArraySchema((dimension(name, Datatype.INT64, (0, 99)),), (attribute("v", Datatype.INT32),))
    )
    write_array(uri, pa.table({name: [1, 2], "v": [1, 2]}))
    return uri


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_letters_that_no_font_has(of_many_letters, tmp_path, monkeypatch):
    monkeypatch.setattr(fonts, "_OTHERS", ())
    with pytest.warns(
        UserWarning, match=r"^no font of this machine has .* and other letters, which are"
    ) as told:
        plot.image(of_many_letters, tmp_path / "image.png")
    assert [each.filename for each in told] == [__file__]
    with warnings.catch_warnings(record=True) as told:
        plot.image(of_many_letters, tmp_path / "image.svg")
    assert told == []
    shown = "".join(ElementTree.parse(tmp_path / "image.svg").getroot().itertext())
    assert shown.count(chr(0x13000)) == 2


@pytest.mark.filterwarnings("default")
def test_other_warnings_are_still_told():
    with warnings.catch_warnings(record=True) as told:
        with fonts.missing_letters() as letters:
            warnings.warn("Glyph 97 (a) missing from font(s) DejaVu Sans.", stacklevel=1)
            warnings.warn("about something else", stacklevel=1)
        assert [str(each.message) for each in told] == ["about something else"]
    assert [*letters] == ["a"]


@pytest.mark.slow
def test_what_the_user_sets_for_figures_is_not_for_images(of_many_letters, tmp_path):
    plot.image(of_many_letters, tmp_path / "before.svg")
    of_user = {"text.usetex": True, "axes.facecolor": "black", "svg.image_inline": False, "savefig.dpi": 7}
    with rc_context(of_user):
        plot.image(of_many_letters, tmp_path / "after.svg")
        assert {name: rcParams[name] for name in of_user} == of_user
    assert (tmp_path / "after.svg").read_bytes() == (tmp_path / "before.svg").read_bytes()


@pytest.mark.slow
def test_fonts_that_the_user_has_chosen_draw_what_others_lack(of_many_letters, tmp_path):
    """Matplotlib takes the first of them that is there, and looks for no letter in the others."""
    with rc_context({"font.sans-serif": ["DejaVu Sans", "DejaVu Serif", "STIXGeneral"]}):
        plot.image(of_many_letters, tmp_path / "image.svg")
    assert b"'DejaVu Sans', 'DejaVu Serif', 'STIXGeneral', " in (tmp_path / "image.svg").read_bytes()


def test_two_threads_leave_settings_and_warnings_as_they_were(golden, monkeypatch):
    """The first is let go on when the second has begun as well: it ends first, and puts back what it has found."""
    picture = gather_array(str(golden("tiledb/sp_multifrag") / "array"))
    settings, filters = dict(rcParams), list(warnings.filters)
    inside, both = [], threading.Event()

    def drawn(*_):
        inside.append(threading.current_thread())
        if len(inside) == 1:
            threads[1].start()
            both.wait(0.1)  # not for ever: nobody is to come in now
        else:
            both.set()
            threads[0].join(60)

    monkeypatch.setattr(image, "_draw_array", drawn)
    monkeypatch.setattr(Figure, "savefig", lambda *_, **__: None)
    threads = [threading.Thread(target=image.image_bytes, args=(picture, "svg")) for _ in range(2)]
    threads[0].start()
    threads[0].join(60)
    threads[1].join(60)
    assert inside == threads
    assert dict(rcParams) == settings
    assert warnings.filters == filters


@pytest.mark.filterwarnings("ignore:.* use of fork:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:TileDB is a multithreading library:UserWarning")
def test_a_process_forked_while_somebody_draws_finds_all_as_it_was(golden, monkeypatch):
    picture = gather_array(str(golden("tiledb/sp_multifrag") / "array"))
    own, begun, free = rcParams["svg.hashsalt"], threading.Event(), threading.Event()

    def drawn(*_):
        begun.set()
        free.wait(60)

    monkeypatch.setattr(image, "_draw_array", drawn)
    monkeypatch.setattr(Figure, "savefig", lambda *_, **__: None)
    drawing = threading.Thread(target=image.image_bytes, args=(picture, "svg"))
    drawing.start()
    assert begun.wait(60)
    threading.Timer(0.1, free.set).start()
    child = os.fork()
    if child == 0:
        os._exit(not (image._drawing.acquire(timeout=0.5) and rcParams["svg.hashsalt"] == own))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    drawing.join(60)


def test_only_fonts_that_are_there_are_asked_for(monkeypatch):
    monkeypatch.setattr(fonts, "_OTHERS", ("none of this name", "DejaVu Serif"))
    with rc_context({"font.sans-serif": ["another of no name", "STIXGeneral"]}):
        assert fonts.families() == ["DejaVu Sans", "STIXGeneral", "DejaVu Serif", "sans-serif"]
