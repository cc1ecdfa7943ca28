"""Draws docs/files.svg, the picture of the README: `python -m benchmarks.picture`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pyqbeast.core.otree.file_layout import lay_out
from pyqbeast.core.otree.tree import SampledRows, Tree, build_tree
from pyqbeast.core.otree.weight_bands import DEFAULT_FRACTIONS

ROWS, CUBE_SIZE, SIDE, GAP = 40_000, 1_500, 250, 24
COLOURS = ("#d62728", "#ff7f0e", "#2ca02c", "#1f77b4", "#9467bd", "#8c564b")


def points() -> SampledRows:
    """Two spots of rows, and some everywhere."""
    draw = np.random.default_rng(4)
    spots = [
        draw.normal((x, y), s, (n, 2)) for x, y, s, n in ((0.3, 0.3, 0.08, 18_000), (0.7, 0.6, 0.12, 16_000))
    ]
    xy = np.clip(np.concatenate([*spots, draw.random((6_000, 2))]), 0, 1)
    weights = draw.integers(-(2**31), 2**31, len(xy)).astype(np.int32)
    return SampledRows.of(xy, weights, np.ones(len(xy)))


def panel(tree: Tree, rows: SampledRows, left: int, share: float, title: str) -> list[str]:
    """A picture of the cubes and of the rows that a sample of a share reads, as lines of SVG."""
    bound = -(2**31) + share * (2**32 - 1)
    read = rows.weights < bound
    out = [f'<text x="{left}" y="18" font-size="13">{title}</text>']
    for node in range(len(tree)):
        cube = tree.cube(node)
        (x0, x1), (y0, y1) = cube.bounds()
        box = f'x="{left + SIDE * x0:.1f}" y="{28 + SIDE * (1 - y1):.1f}" width="{SIDE * (x1 - x0):.1f}" '
        box += f'height="{SIDE * (y1 - y0):.1f}"'
        out.append(f'<rect {box} fill="none" stroke="#999" stroke-width="{1.6 / (1 + cube.depth):.2f}"/>')
    for i in np.flatnonzero(read)[:: max(1, int(read.sum() / 2_500))]:
        x, y = rows.points[i]
        colour = COLOURS[min(tree.cube(int(tree.row_node[i])).depth, 5)]
        out.append(
            f'<circle cx="{left + SIDE * x:.1f}" cy="{28 + SIDE * (1 - y):.1f}" r="0.9" fill="{colour}"/>'
        )
    return out


def main() -> None:
    """Writes the picture."""
    rows = points()
    tree = build_tree(rows, 2, CUBE_SIZE, ())
    files = lay_out(rows, CUBE_SIZE, DEFAULT_FRACTIONS).files
    panels = (
        (1.0, f"all rows: {files} files, coloured by depth"),
        (0.1, "10 %: the lightest rows, the upper cubes"),
        (0.01, "1 %: part of the root, everywhere"),
    )
    body = [line for i, p in enumerate(panels) for line in panel(tree, rows, 10 + i * (SIDE + GAP), *p)]
    size = f'width="{20 + 3 * SIDE + 2 * GAP}" height="{SIDE + 40}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">'
    back = '<rect width="100%" height="100%" fill="white"/>'
    Path("docs/files.svg").write_text("\n".join([head, back, *body, "</svg>"]) + "\n")


if __name__ == "__main__":
    main()
