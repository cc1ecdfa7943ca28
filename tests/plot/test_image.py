"""What an image's axes say can be read."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

from pyqbeast.plot.draw import charts, image
from pyqbeast.plot.gather.axes import Axis
from pyqbeast.plot.gather.table import gather_table
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


def whole_ticks(ticks, low, high):
    inside = [tick for tick in ticks if low <= tick <= high]
    assert all(tick == int(tick) for tick in inside)
    return inside
