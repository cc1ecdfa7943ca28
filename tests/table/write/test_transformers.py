"""Every transformer on the way through a table: coordinates agree with the core, rows are stored, read and sampled."""

from __future__ import annotations

import json
import math
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import functions as F

from pyqbeast import InvalidInputError, QbeastTable
from pyqbeast.core.transform.hashing import Hash
from pyqbeast.core.transform.legacy import IdentityToByte, IdentityToZero, NullToZero
from pyqbeast.core.transform.linear import spanning
from pyqbeast.core.transform.quantiles import NumericQuantiles
from pyqbeast.core.transform.registry import transformer_for
from pyqbeast.core.transform.text_quantiles import StringHistogram, StringQuantiles
from pyqbeast.table.coordinates import coordinate, coordinates
from tests.spark_session import COMPILED, under
from tests.table.help import count, holds, ids, ids_of_each, ids_that_meet, load, save

DOUBLE, FLOAT, LONG, STRING = "DoubleDataType", "FloatDataType", "LongDataType", "StringDataType"
INFINITY = math.inf


def coordinates_of(spark, values, spark_type, transformer, *transformations):
    """The coordinates of values by each of some transformations of a column."""
    frame = spark.createDataFrame([(value,) for value in values], f"v {spark_type}").coalesce(1)
    columns = [coordinate(spark, transformer, each, spark_type) for each in transformations]
    found = frame.select(*(column.alias(f"c{n}") for n, column in enumerate(columns))).toArrow()
    return [column.to_pylist() for column in found.columns]


def agree_with_the_core(spark, values, spark_type, transformer, *transformations):
    """Coordinates that Spark works out are those that Python does."""
    found = coordinates_of(spark, values, spark_type, transformer, *transformations)
    for transformation, coordinates_found in zip(transformations, found, strict=True):
        wanted = [transformation.coordinate(value) for value in values]
        assert coordinates_found == wanted, transformation


def random_quantiles(draw):
    """Ascending, some of them repeated, near and far."""
    items = [draw.uniform(-1, 1) * 10 ** draw.randint(-3, 12) for _ in range(draw.randint(2, 12))]
    return tuple(sorted(items + draw.choices(items, k=draw.randint(0, 6))))


def test_places_of_numbers_agree_with_the_core_to_the_bit(spark):
    draw = random.Random(1)
    several = [random_quantiles(draw) for _ in range(3)]
    values = [None, math.nan, INFINITY, -INFINITY, 1.7e308, -1.7e308, 0.0, -0.0, 5e-324]
    for quantiles in several:
        span = quantiles[-1] - quantiles[0]
        values += [draw.uniform(quantiles[0] - span / 4, quantiles[-1] + span / 4) for _ in range(500)]
        values += [*quantiles, *(math.nextafter(q, INFINITY) for q in quantiles)]
    numeric = [NumericQuantiles(quantiles, DOUBLE) for quantiles in several]
    agree_with_the_core(spark, values, "double", transformer_for("v", "quantiles", DOUBLE), *numeric)


#: Doubles that a Java before 19 prints with a digit more, and the edges.
ODD_DOUBLES = (
    2e23,
    1e23,
    8.41e21,
    2e-323,
    5e-324,
    1.7976931348623157e308,
    0.0,
    -0.0,
    1e7,
    1e-3,
    math.nan,
    INFINITY,
)


@pytest.mark.parametrize("generated", [True, False])
def test_hashed_numbers_agree_with_the_core_whatever_the_java(spark, generated):
    draw = random.Random(7)
    doubles = [*ODD_DOUBLES, *(i * 1e15 / 7 for i in range(500)), None]
    doubles += [draw.uniform(-1, 1) * 10.0 ** draw.randint(-300, 300) for _ in range(500)]
    floats = [float(np.float32(draw.uniform(-1, 1) * 10.0 ** draw.randint(-37, 37))) for _ in range(1_000)]
    hashing = Hash(-7)
    whole_stages = {"spark.sql.codegen.wholeStage": str(generated).lower()}
    with under(spark, {**(COMPILED if generated else {}), **whole_stages}):
        agree_with_the_core(spark, doubles, "double", transformer_for("v", "hashing", DOUBLE), hashing)
        (of_floats,) = coordinates_of(spark, floats, "float", transformer_for("v", "hashing", FLOAT), hashing)
    assert of_floats == [hashing.coordinate(np.float32(value)) for value in floats]


def test_nulls_are_hashed_by_the_text_of_what_stands_for_them(spark):
    """Python takes 0 and 0.0 for equal, also where it looks for a column made before."""
    hashing = transformer_for("v", "hashing", STRING)
    assert Hash(0).coordinate(None) != Hash(0.0).coordinate(None)
    agree_with_the_core(spark, [None], "string", hashing, Hash(0), Hash(0.0))


def test_places_on_a_line_agree_with_the_core_to_the_bit(spark):
    """Also where the distance, or one divided by it, is beyond all doubles or has fewer digits."""
    draw = random.Random(7)
    values = [None, math.nan, INFINITY, -INFINITY, 0.0, -0.0, 5e-324, 1.0, 1.7e308, -1.7e308]
    lines = []
    for low, high in (
        (-3.5, 1e6),
        (-1.7e308, 1.7e308),
        (-1.7e308, 1000.0),
        (0.0, 5e-324),
        (1e-310, 2e-310),
    ):
        lines.append(spanning(DOUBLE, low, high, random.Random(1)))
        values += [low * part + high * (1.0 - part) for part in (draw.random() for _ in range(500))]
        values += [low, high]
        values += [math.nextafter(bound, to) for bound in (low, high) for to in (INFINITY, -INFINITY)]
    agree_with_the_core(spark, values, "double", transformer_for("v", "linear", DOUBLE), *lines)


def test_places_of_whole_numbers_beyond_the_precision_of_doubles(spark):
    numeric = NumericQuantiles((-5.0, 0.0, float(2**53), 1e18), LONG)
    values = [-6, -5, -1, 0, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, None]
    agree_with_the_core(spark, values, "bigint", transformer_for("v", "quantiles", LONG), numeric)


#: The last two sort the other way round by their code points, and so does Spark.
ODD_TEXTS = ("", "null", "a", "Z", "é", "quote \" ' \\ \n", "日本", "\ufffd", "\U0001f600")


def test_places_of_texts_agree_with_the_core(spark):
    draw = random.Random(1)
    texts = ["".join(draw.choices("aAbnz0é日\ufffd\U0001f600", k=draw.randint(0, 4))) for _ in range(500)]
    texts += ODD_TEXTS
    several = []
    for kind in (StringQuantiles, StringHistogram):
        for _ in range(2):
            listed = draw.sample(texts, 9) + draw.choices(texts, k=3)
            several.append(kind(tuple(sorted(listed * 2, key=lambda text: text.encode("utf-16-be")))))
    transformer = transformer_for("v", "quantiles", STRING)
    agree_with_the_core(spark, [*texts, None], "string", transformer, *several)


def test_constants_of_older_releases_hold_their_value_and_null(spark):
    """Any other value lies outside: it would not be found again."""
    transformer = transformer_for("v", "linear", LONG)
    found = coordinates_of(spark, [7, 8, None], "bigint", transformer, IdentityToZero(7), NullToZero())
    assert found == [[0.0, -1.0, 0.0], [-1.0, -1.0, 0.0]]


@pytest.mark.parametrize("spark_type", ["bigint", "double"])
def test_constants_of_version_0_2_0_agree_with_the_core(spark, spark_type):
    transformer, values = transformer_for("v", "linear", LONG), [0, 1, 256, 257, -255, -256, None]
    values += [0.5, 1.5, -0.5] if spark_type == "double" else []
    typed = [value if value is None or spark_type == "bigint" else float(value) for value in values]
    agree_with_the_core(spark, typed, spark_type, transformer, IdentityToByte())


def with_few_files(table, path):
    """Copies the file of the root of a table of one version, and the two smallest of the branches below."""
    log = "_delta_log/00000000000000000000.json"
    lines = [json.loads(line) for line in (table / log).read_text().splitlines()]
    files = sorted((line["add"] for line in lines if "add" in line), key=lambda add: add["size"])
    assert '"cubeId":""' in files[0]["tags"]["blocks"]
    (path / log).parent.mkdir(parents=True)
    kept = [line for line in lines if "add" not in line or line["add"] in files[:3]]
    (path / log).write_text("".join(json.dumps(line) + "\n" for line in kept))
    for file in files[:3]:
        shutil.copy(table / file["path"], path)


@pytest.mark.parametrize("case", ["f1_quantiles_numeric", "f2_quantiles_string", "f3_histogram_string"])
def test_rows_of_the_scala_project_have_the_places_that_it_gave_them(spark, golden, case):
    folder = golden(f"qbeast/{case}")
    revision = QbeastTable.for_path(spark, str(folder / "table")).latest_revision
    probe = json.loads((folder / "expected.json").read_text())["rows_probe"]
    wanted = {row["id"]: tuple(row["point"]) for row in probe["rows"]}
    rows = load(spark, str(folder / "table")).filter(F.col("id").isin(list(wanted)))
    point = coordinates(spark, revision, dict(rows.dtypes))
    assert {row[0]: tuple(row[1:]) for row in rows.select("id", *point).collect()} == wanted


def test_a_table_of_the_scala_project_holds(spark, golden, table_path):
    """Its rows lie in the cubes where it put them, as `verify` computes them: texts by quantiles."""
    with_few_files(golden("qbeast/f2_quantiles_string") / "table", Path(table_path))
    holds(spark, table_path)


def people(spark, n, first=0):
    """Rows with a skewed number, a name that may be null, a city, and a whole number."""
    return spark.range(first, first + n).selectExpr(
        "id",
        "pmod(xxhash64(id), 1000L) * id / 7.0D as a",
        "if(id % 97 = 0, null, concat(char(97 + cast(pmod(xxhash64(id, 2L), 26) as int)), id)) as b",
        "concat('city ', id) as c",
        "cast(id * 7 % 1009 as int) as d",
    )


A_QUANTILES = {"a_quantiles": [0.0, 1e3, 1e5, 1e6, 9e6]}
ALL_KINDS = {"columnsToIndex": "a:quantiles,b:histogram,c:hashing,d", "cubeSize": 100}


CONDITIONS = ("a < 1000", "b >= 'q'", "c = 'city 77'", "d BETWEEN 100 AND 200 AND b IS NOT NULL")
HALF = "hash(a, b, c, d) < 0"


def is_exact(spark, path, rows):
    """The table at a path has these rows, also by filters and samples, and its index says the truth."""
    table, asked = load(spark, path), ("true", *CONDITIONS, HALF)
    found = ids_of_each([table, *map(table.filter, CONDITIONS), table.sample(0.5)])
    assert dict(zip(asked, found, strict=True)) == dict(zip(asked, ids_that_meet(rows, asked), strict=True))
    return holds(spark, path)


def test_all_kinds_in_one_table(spark, table_path):
    """Written, appended to without a word, changed in kind, added to by plain Delta, overwritten."""
    save(people(spark, 800), table_path, columnStats=json.dumps(A_QUANTILES), **ALL_KINDS)
    save(people(spark, 400, first=800), table_path, columnsToIndex=None, cubeSize=None)
    table = QbeastTable.for_path(spark, table_path)
    kinds = [type(transformation).__name__ for transformation in table.latest_revision.transformations]
    assert (table.latest_revision.id, kinds) == (1, ["NumericQuantiles", "StringHistogram", "Hash", "Linear"])
    assert table.metrics().height > 1

    changed = {"b_quantiles": ["a", "h", "m", "z"], "d_quantiles": [0, 500, 1009]}
    kinds = {"columnsToIndex": "a:linear,b:quantiles,c,d:quantiles", "cubeSize": None}
    save(people(spark, 400, first=1_200), table_path, columnStats=json.dumps(changed), **kinds)
    people(spark, 100, first=1_600).write.format("delta").mode("append").save(table_path)
    table = is_exact(spark, table_path, people(spark, 1_700))
    kinds = [type(transformation).__name__ for transformation in table.latest_revision.transformations]
    assert (table.latest_revision.id, kinds) == (2, ["Linear", "StringQuantiles", "Hash", "NumericQuantiles"])

    anew = {"mode": "overwrite", "columnsToIndex": None, "cubeSize": None, "overwriteSchema": True}
    save(people(spark, 200).withColumnRenamed("b", "B"), table_path, **anew)
    table = QbeastTable.for_path(spark, table_path)
    assert ids(table.df()) == list(range(200))
    assert [r.id for r in table.revisions()] == [0, 1]
    assert table.latest_revision.transformations[1].texts == ("a", "h", "m", "z")


#: Spark's type to an expression of it and the quantiles of that; dates and times in milliseconds.
QUANTILES_OF_TYPES = {
    "byte": ("cast(id as tinyint)", [0, 3, 100]),
    "boolean": ("id % 2 = 0", [0, 1]),
    "float": ("cast(id / 7 as float)", [0.0, 0.5, 20.0]),
    "decimal": ("cast(id / 7 as decimal(20, 6))", [0, 0.5, 20]),
    "timestamp": ("timestamp_millis(id * 3600123)", [0, 1e6, 4e8]),
    "date": ("date_add(date'1995-01-01', cast(id as int))", [7e11, 7.9e11, 8e11]),
}


def test_quantiles_of_every_type(spark, table_path):
    columns = {name: f"if(id = 5, null, {sql}) as {name}" for name, (sql, _) in QUANTILES_OF_TYPES.items()}
    stats = {f"{name}_quantiles": quantiles for name, (_, quantiles) in QUANTILES_OF_TYPES.items()}
    rows = spark.range(120).selectExpr("id", *columns.values())
    given = ",".join(f"{name}:quantiles" for name in columns)
    save(rows, table_path, columnsToIndex=given, columnStats=json.dumps(stats), cubeSize=20)
    table = QbeastTable.for_path(spark, table_path)
    metrics = table.metrics()
    assert (metrics.unindexed_files, metrics.height > 1) == (0, True)
    assert ids(table.sample(0.5)) == ids(rows.filter(f"hash({', '.join(columns)}) < 0"))


def test_quantiles_have_to_be_known(spark, table_path):
    """Of a new table, and of a column that becomes one of quantiles; the data is not asked."""
    rows = people(spark, 100)
    with pytest.raises(InvalidInputError, match="a_quantiles"):
        save(rows, table_path, columnsToIndex="a:quantiles,b:quantiles")
    with pytest.raises(InvalidInputError, match="b_quantiles"):
        save(rows, table_path, columnsToIndex="b:quantiles,a")
    save(rows, table_path, columnsToIndex="a,b")
    for columns in ("a:quantiles,b", "a,b:quantiles"):
        with pytest.raises(InvalidInputError, match="_quantiles"):
            save(rows, table_path, columnsToIndex=columns)
    assert count(load(spark, table_path)) == 100
    assert QbeastTable.for_path(spark, table_path).latest_revision.id == 1


@pytest.mark.parametrize("columns", ["a:histogram,b", "c:histogram:quantiles,a", "c:linear,a", "c:empty,a"])
def test_kinds_that_do_not_fit(spark, table_path, columns):
    with pytest.raises(InvalidInputError):
        save(people(spark, 10), table_path, columnsToIndex=columns)


def test_a_table_that_was_created_without_rows(spark, table_path):
    """Its columns are settled, its quantiles are not."""
    rows = people(spark, 200)
    save(people(spark, 0), table_path, **ALL_KINDS)
    with pytest.raises(InvalidInputError, match="a_quantiles"):
        save(rows, table_path, columnsToIndex=None, cubeSize=None)
    save(rows, table_path, columnStats=json.dumps(A_QUANTILES), columnsToIndex=None, cubeSize=None)
    assert QbeastTable.for_path(spark, table_path).latest_revision.id == 1
    assert ids(load(spark, table_path)) == list(range(200))


def test_what_is_stated_without_rows_is_kept(spark, table_path):
    """With a new table, with an append and with an overwrite; a stream's first batch may have no rows."""
    none, unstated = people(spark, 0), {"columnsToIndex": None, "cubeSize": None}

    def latest():
        return QbeastTable.for_path(spark, table_path).latest_revision

    save(none, table_path, columnStats=json.dumps({**A_QUANTILES, "d_min": 0, "d_max": 5_000}), **ALL_KINDS)
    save(people(spark, 200), table_path, **unstated)
    a, _, _, d = latest().transformations
    assert (latest().id, a.quantiles, d.maximum) == (1, tuple(A_QUANTILES["a_quantiles"]), 5_000)

    save(none, table_path, columnStats=json.dumps({"d_min": -5, "d_max": 10}), **unstated)
    save(people(spark, 200, first=200), table_path, **unstated)
    d = latest().transformations[3]
    assert (latest().id, d.minimum, d.maximum) == (2, -5, 5_000)
    assert QbeastTable.for_path(spark, table_path).metrics().unindexed_files == 0
    assert ids(load(spark, table_path)) == list(range(400))

    save(none, table_path, "overwrite", **unstated)
    save(people(spark, 200), table_path, **unstated)
    assert latest().transformations[0].quantiles == a.quantiles
    assert ids(load(spark, table_path)) == list(range(200))
