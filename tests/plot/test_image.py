"""What an image's axes say can be read."""

from __future__ import annotations

import itertools
import warnings
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

from pyqbeast import plot
from pyqbeast.plot.draw import fonts, image
from pyqbeast.plot.gather.axes import Axis
from pyqbeast.plot.gather.table import gather_table
from pyqbeast.tiledb import ArraySchema, Datatype, attribute, create_array, dimension, write_array
from tests.scanning.tables import indexed_table


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


def test_only_fonts_that_are_there_are_asked_for(monkeypatch):
    monkeypatch.setattr(fonts, "_OTHERS", ("none of this name", "DejaVu Serif"))
    assert fonts.families() == ["DejaVu Sans", "DejaVu Serif", "sans-serif"]
