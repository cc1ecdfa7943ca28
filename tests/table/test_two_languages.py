"""Rules that stand in Python and in Java give the same, whatever they are asked.

Coordinates of each kind of transformer are compared in `write/test_transformers.py`, stored texts in
`test_stored_texts.py`.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import strategies as st
from pyspark.sql import functions as F

from pyqbeast import bridge
from pyqbeast.approximate.estimate.scale import EVEN, START
from pyqbeast.approximate.queried_files import QueriedFiles
from pyqbeast.bridge.aggregate_query import AggregateQuery
from pyqbeast.core.format.constants import WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.weight import fraction_of, weight_of
from pyqbeast.core.otree.file_layout import FileLayout
from pyqbeast.core.otree.tree import SampledRows, build_tree
from pyqbeast.core.otree.z_order import z_order
from pyqbeast.table.write.arrange import tree_bytes
from tests.core.hostile import drawn
from tests.table.help import load, rows_2d, save

#: Coordinates, and those at which a cell ends.
COORDINATES = st.one_of(
    st.floats(0, 1, allow_subnormal=False),
    st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, math.nextafter(0.5, 0), math.nextafter(1.0, 0)]),
)
WEIGHTS = st.integers(WEIGHT_MIN, WEIGHT_MAX)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 7])
def test_a_point_has_one_place_on_the_z_order_curve(spark, java, dimensions):
    points = drawn(st.lists(COORDINATES, min_size=dimensions, max_size=dimensions), 60)
    points += [[1.0] * dimensions, [0.0] * dimensions]
    found = []
    for point in points:
        handed = spark._sc._gateway.new_array(spark._jvm.double, dimensions)
        for i, x in enumerate(point):
            handed[i] = x
        found.append(java("layout.ZOrder", "of", ("double[]", handed), made_of=[dimensions]))
    assert found == z_order(np.array(points)).tolist()


@pytest.mark.parametrize("dimensions", [1, 2, 4])
def test_a_row_goes_to_one_cube(spark, dimensions):
    """From the root on to the child that holds its point, until a cube keeps its weight."""
    row = st.tuples(st.lists(COORDINATES, min_size=dimensions, max_size=dimensions), WEIGHTS)
    rows = drawn(row, 400)
    points, weights = np.array([point for point, _ in rows]), np.array([w for _, w in rows], np.int32)
    sampled = SampledRows.of(points, weights, np.ones(len(rows)))
    tree = build_tree(sampled, dimensions, 5)
    nodes = np.arange(len(tree), dtype=np.int32)
    one_file_a_cube = FileLayout(
        np.arange(len(tree) + 1, dtype=np.int32),
        tree.max_weight,
        nodes,
        len(tree),
        np.zeros(len(tree) + 1, np.int32),
        np.zeros(0, np.int64),
    )
    names = [f"x{i}" for i in range(dimensions)]
    frame = spark.createDataFrame(
        [
            (i, *map(float, point), int(w))
            for i, (point, w) in enumerate(zip(sampled.points, sampled.weights, strict=True))
        ],
        f"i int, {', '.join(f'{name} double' for name in names)}, w int",
    )
    sent = bridge.arranged(
        frame, [F.col(name) for name in names], F.col("w"), tree_bytes(tree, one_file_a_cube)
    )
    found = dict(map(tuple, sent.select("i", F.spark_partition_id()).collect()))
    assert [found[i] for i in range(len(rows))] == tree.row_node.tolist()
    assert len(set(found.values())) > 50


def test_a_fraction_has_one_weight(java):
    fractions = drawn(st.floats(allow_nan=True), 100) + drawn(st.floats(0, 1), 200) + [0.0, 0.1, 0.5, 1.0]
    for fraction in fractions:
        assert java("format.Constants", "weightOf", ("double", fraction)) == weight_of(fraction), fraction
    # Estimates count the weights below a stop: the share of 2^32 numbers, the format's to a weight or two.
    for weight in drawn(WEIGHTS, 200):
        assert abs(EVEN.share(weight) - fraction_of(weight)) < 1e-9
        assert abs(EVEN.threshold(EVEN.share(weight)) - weight) <= 1
    assert EVEN.share(START) == fraction_of(WEIGHT_MIN) == 0.0


def test_a_table_has_one_granularity_of_keys(spark, table_path):
    for write, repeats in enumerate((3, 1, 7)):
        rows = rows_2d(spark, 200, first=1_000 * write)
        save(rows.crossJoin(spark.range(repeats).withColumnRenamed("id", "copy")), table_path, cubeSize=100)
    log = bridge.TableLog(spark, table_path)
    files = QueriedFiles.of(AggregateQuery(load(spark, table_path).agg(F.sum("b"))))
    assert files.key_rows == 3 + 1 + 7
    assert log.key_granularity == pytest.approx((2 + 0 + 6) / (200 * 11))
