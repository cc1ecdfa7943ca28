"""What an image's axes say can be read."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.figure import Figure

from pyqbeast.plot.draw import image
from pyqbeast.plot.gather.axes import Axis


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
