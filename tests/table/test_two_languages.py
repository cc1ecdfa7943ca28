"""Rules that stand in Python and in Java give the same, whatever they are asked.

Coordinates of each kind of transformer are compared in `write/test_transformers.py`, stored texts in
`test_stored_texts.py`.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from pyspark.sql import functions as F

from pyqbeast import bridge
from pyqbeast.approximate.queried_files import QueriedFiles
from pyqbeast.bridge.aggregate_query import AggregateQuery
from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import HASH_SEED, MAX_COLUMNS, WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.iso_time import stated_moment
from pyqbeast.core.format.stored_text import stored_float, whole_number
from pyqbeast.core.format.types import epoch_milliseconds, unhashed_type
from pyqbeast.core.format.weight import fraction_of, weight_of
from pyqbeast.core.format.weight_counts import BORDERS
from pyqbeast.core.otree import file_layout, weight_bands
from pyqbeast.core.otree.file_layout import lay_out
from pyqbeast.core.otree.tree import SampledRows, build_tree
from pyqbeast.core.otree.weight_bands import DEFAULT_FRACTIONS
from pyqbeast.core.sampling.weight_scale import WeightScale
from pyqbeast.table.options import WriteOptions
from pyqbeast.table.write.arrange import tree_bytes
from tests.core.hostile import drawn
from tests.delta_log.block_texts import UNUSUAL, USUAL, texts
from tests.spark_session import under
from tests.table.help import load, rows_2d, save

#: Coordinates at which a cell ends.
ENDS = [0.0, 0.25, 0.5, 0.75, 1.0, math.nextafter(0.5, 0), math.nextafter(1.0, 0)]
#: Numbers that are no usual ones.
ODD_NUMBERS = [math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, math.nextafter(1, 2)]


def some_weights(rng, count):
    return rng.integers(WEIGHT_MIN, WEIGHT_MAX, count, np.int32, endpoint=True)


def sampled_rows(count, dimensions):
    """Rows with weights: a third of their coordinates are such at which a cell ends."""
    rng = np.random.default_rng(1)
    shape = (count, dimensions)
    points = np.where(rng.random(shape) < 1 / 3, rng.choice(ENDS, shape), rng.random(shape))
    return SampledRows.of(points, some_weights(rng, count), np.ones(count))


def doubles(spark, values):
    handed = spark._sc._gateway.new_array(spark._jvm.double, len(values))
    spark._jvm.java.nio.ByteBuffer.wrap(np.asarray(values, ">f8").tobytes()).asDoubleBuffer().get(handed)
    return handed


def sent(spark, rows, cube_size):
    """Rows as a write sends them: their layout, their numbers in the order in which they come, and their files."""
    dimensions = rows.points.shape[1]
    names = [f"x{i}" for i in range(dimensions)]
    frame = spark.createDataFrame(
        [
            (i, *map(float, point), int(w))
            for i, (point, w) in enumerate(zip(rows.points, rows.weights, strict=True))
        ],
        f"i int, {', '.join(f'{name} double' for name in names)}, w int",
    )
    tree, layout = build_tree(rows, dimensions, cube_size, ()), lay_out(rows, cube_size, DEFAULT_FRACTIONS)
    columns = [F.col(name) for name in names]
    arranged = bridge.arranged(frame, columns, F.col("w"), tree_bytes(tree, layout))
    found = arranged.select("i", F.spark_partition_id()).collect()
    return layout, [row[0] for row in found], [row[1] for row in found]


def test_the_options_of_an_overwrite_that_replaces_a_part(spark):
    ours, delta = spark._jvm.io.pyqbeast.spark, spark._jvm.org.apache.spark.sql.delta
    conf = spark._jsparkSession.sessionState().conf()
    named = list(ours.DeltaWrites.REPLACING_PART)
    assert named == ["replaceWhere", "replaceOn", "replaceUsing"]
    for name in (*named, "mergeSchema", "userMetadata"):
        options = delta.DeltaOptions(ours.ScalaInterop.map({name: "true"}), conf)
        is_one = WriteOptions.parse({"path": "/t", name: "true"}).replaces_part
        assert ours.DeltaWrites.replacesPart(options) == is_one == (name in named)


@pytest.mark.parametrize("dimensions", [1, 3])
def test_a_row_goes_to_one_file_and_stretch(spark, monkeypatch, dimensions):
    """Down the k-d tree of its band. Rows of a file come stretch by stretch."""
    monkeypatch.setattr(file_layout, "STRETCH_ROWS", 4)
    monkeypatch.setattr(file_layout, "SAMPLE_OF_STRETCH", 2)
    monkeypatch.setattr(weight_bands, "FEWEST_ROWS_OF_ONE_CUBE", 0)
    sampled = sampled_rows(400, dimensions)
    layout, order, files = sent(spark, sampled, 20)
    leaves = layout.leaf_of(sampled.points, sampled.weights)[order]
    assert files == layout.target[leaves].tolist()
    assert len(layout.weight) > 1
    assert len(set(files)) > 10
    stretches = layout.stretch[leaves]
    assert stretches.max() > 1
    assert (np.diff(stretches)[np.diff(files) == 0] >= 0).all()


@pytest.mark.parametrize("dimensions", [1, 2, MAX_COLUMNS])
def test_a_row_goes_to_one_cube(spark, java, dimensions):
    """From the root on to the child that holds its point, until a cube keeps its weight."""
    sampled = sampled_rows(150, dimensions)
    tree = build_tree(sampled, dimensions, 2, ())
    java_tree = spark._jvm.io.pyqbeast.layout.Tree(tree_bytes(tree, lay_out(sampled, 2, DEFAULT_FRACTIONS)))
    for point, weight, node in zip(sampled.points, sampled.weights, tree.row_node, strict=True):
        handed = ("double[]", doubles(spark, point)), ("int", int(weight))
        assert bridge.read_cube(java("layout.Tree", "cubeOf", *handed, of=java_tree)) == (node, None)
    assert len(tree) > 20


def test_a_fraction_has_one_weight(java):
    rng = np.random.default_rng(1)
    of_any_bits = rng.integers(0, 2**64, 50, np.uint64).view(np.float64)
    for fraction in [*ODD_NUMBERS, 0.1, 0.5, 1.0, *of_any_bits.tolist(), *rng.random(100).tolist()]:
        assert java("format.Constants", "weightOf", ("double", fraction)) == weight_of(fraction), fraction
    # Estimates count the weights below a stop: the share of 2^32 numbers, the format's to a weight or two.
    for weight in map(int, some_weights(rng, 200)):
        assert abs(WeightScale().share(weight) - fraction_of(weight)) < 1e-9
        assert abs(WeightScale().threshold(WeightScale().share(weight)) - weight) <= 1
    assert WeightScale().share(WEIGHT_MIN) == fraction_of(WEIGHT_MIN) == 0.0


def test_a_number_in_statistics_stands_for_one_float(spark):
    """`WidenedFloats.java` leaves it to Spark's cast."""
    rng = np.random.default_rng(1)
    of_any_bits = rng.integers(0, 2**64, 250, np.uint64).view(np.float64)
    of_floats = rng.integers(0, 2**32, 250, np.uint32).view(np.float32)
    of_floats = of_floats[~np.isnan(of_floats)].astype(np.float64)
    near_floats = np.nextafter(of_floats, rng.choice([-np.inf, np.inf], len(of_floats)))
    odd = [number for number in ODD_NUMBERS if not math.isnan(number)]
    drawn_numbers = np.concatenate([of_any_bits, of_floats, near_floats])
    numbers = [*odd, *drawn_numbers[~np.isnan(drawn_numbers)].tolist()]
    frame = spark.createDataFrame([(number,) for number in numbers], "x double")
    of_java = frame.select(F.col("x").cast("float").cast("double")).collect()
    assert [repr(row[0]) for row in of_java] == [repr(stored_float(number)) for number in numbers]


def test_a_table_has_one_granularity_of_keys(spark, table_path):
    for write, repeats in enumerate((3, 1)):
        rows = rows_2d(spark, 200, first=1_000 * write)
        save(rows.crossJoin(spark.range(repeats).withColumnRenamed("id", "copy")), table_path, cubeSize=100)
    log = bridge.TableLog(spark, table_path)
    files = QueriedFiles.of(AggregateQuery(load(spark, table_path).agg(F.sum("b"))))
    assert files.key_rows == 3 + 1
    assert log.key_granularity == pytest.approx((2 + 0) / (200 * 4))


def test_a_weight_lies_in_one_interval(java):
    """Files count their rows by these. The borders themselves, and the weights beside them, are asked for too."""
    beside = [border + step for border in BORDERS.tolist() for step in (-1, 0, 1)]
    drawn_weights = some_weights(np.random.default_rng(1), 200).tolist()
    weights = [*drawn_weights, *beside, WEIGHT_MIN, WEIGHT_MAX]
    found = [java("format.WeightCounts", "interval", ("int", weight)) for weight in weights]
    assert found == np.searchsorted(BORDERS, weights, side="right").tolist()


def test_blocks_as_they_are_written_are_read_without_a_tree_of_json(java):
    """Of any text the quick way says nothing, or what the other way says."""

    def quick(text):
        return java("format.UsualBlocks", "read", ("String", text))

    def by_tree(text):
        return java("format.FileTags", "listed", ("JsonNode", java("format.Json", "read", ("String", text))))

    # The last two of these are of other writers.
    assert [quick(text) is not None for text in USUAL] == [True, False, True, False, False]
    for text in dict.fromkeys([*USUAL, *UNUSUAL, *filter(str.isascii, drawn(texts, 150))]):
        blocks = quick(text)
        assert blocks is None or blocks.toString() == by_tree(text).toString(), text


def test_whole_numbers_as_texts(java):
    def by_python(text):
        try:
            return whole_number(text, "it")
        except FormatError:
            return None

    numbers = ["0", "-0", "007", str(2**63 - 1), str(-(2**63)), str(2**63), "1" * 20]
    odd = ["{}", " {}", "+{}", "{}.0", "{}a", "-{}"]
    for text in ["", "-", *(way.format(number) for way in odd for number in numbers)]:
        assert java("format.Json", "wholeNumber", ("String", text)) == by_python(text), text


def test_names_of_time_zones(spark):
    """Short ones of Java, and offsets in every way that Spark takes them."""
    short = sorted(spark._jvm.java.time.ZoneId.SHORT_IDS.keySet())
    zones = [
        *short,
        "UTC",
        "UT",
        "Z",
        "UT+9",
        "GMT-3",
        "+9",
        "+9:30",
        "+09:5",
        "-0930",
        "-090030",
        "+09:00:30",
    ]
    noon = "2024-07-01 12:00:00"
    with under(spark, {"spark.sql.session.timeZone": "UTC"}):
        at = F.lit(noon).cast("timestamp")
        row = spark.range(1).select(*(F.unix_millis(F.to_utc_timestamp(at, zone)) for zone in zones)).first()
    moments = [stated_moment(noon, zone) for zone in zones]
    assert len(short) == 28
    assert list(row) == [epoch_milliseconds(moment) for moment in moments]


def test_types_that_make_no_weight(spark):
    """Spark hashes all others."""
    jvm = spark._jvm
    types = [
        "boolean",
        "tinyint",
        "smallint",
        "bigint",
        "float",
        "double",
        "decimal(20,1)",
        "string",
        "binary",
    ]
    types += ["date", "timestamp", "timestamp_ntz", "void", "string COLLATE UTF8_LCASE", "variant"]
    types += ["map<int,int>", "struct<x:int,map:array<date>>", "array<struct<x:int,y:map<int,int>>>"]
    types += ["struct<x:array<variant>>", f"struct<{','.join(f'c{i}:int' for i in range(40))},v:variant>"]
    if tuple(map(int, spark.version.split(".")[:2])) >= (4, 2):
        types += ["geometry(4326)", "array<geography(4326)>"]
    with under(spark, {"spark.sql.geospatial.enabled": "true"}):
        nulls = spark.range(1).select(*(F.expr(f"CAST(null AS {kind})").alias(kind) for kind in types))
    for field in nulls.schema:
        stored = field.dataType.jsonValue()
        of_java = jvm.org.apache.spark.sql.types.DataType.fromJson(field.dataType.json())
        unhashed = unhashed_type(stored)
        assert jvm.io.pyqbeast.format.HashedTypes.unhashed(of_java).orElse(None) == unhashed, stored
        if unhashed is None:
            of_type = nulls.select(F.col(f"`{field.name}`").alias("c"))
            assert of_type.select(bridge.row_weight(of_type, ["c"])).first()[0] == HASH_SEED, stored
