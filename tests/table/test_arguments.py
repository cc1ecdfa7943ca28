"""Arguments of what runs on Spark: what is taken for a path, and mistakes that are told before Spark is asked."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql.classic.dataframe import DataFrame

import pyqbeast
from pyqbeast import InvalidInputError, QbeastTable, bridge
from pyqbeast.core.format.constants import INDEX_OPTIONS
from pyqbeast.core.transform.registry import transformer_for
from pyqbeast.table import convert, options
from pyqbeast.table.options import WriteOptions
from pyqbeast.table.write import stated_columns

#: A session in which the only table lies at `/t`.
SESSION = SimpleNamespace(
    catalog=SimpleNamespace(tableExists=lambda name: False),
    conf=SimpleNamespace(get=lambda _, default=None: default),
)


#: No rows at all: nobody looks at them.
FRAME = object.__new__(DataFrame)


@pytest.fixture
def asked(monkeypatch):
    """The paths whose log is asked for."""
    paths = []

    def log(_, path):
        paths.append(path)
        return SimpleNamespace(exists=False)

    monkeypatch.setattr(bridge, "TableLog", log)
    return paths


def test_tables_are_named_by_paths_of_pathlib_too(asked):
    for open_it in (QbeastTable.for_path, pyqbeast.upgrade):
        with pytest.raises(pyqbeast.TableNotFoundError):
            open_it(SESSION, Path("/t"))
    assert asked == ["/t", "/t"]
    with pytest.raises(InvalidInputError, match=r"did you mean 'parquet\.`/t`'"):
        pyqbeast.convert(SESSION, Path("/t"), columns_to_index=["a"])


@pytest.mark.parametrize("nothing", [None, "", 5])
def test_what_is_no_path_is_told(asked, nothing):
    for call in (
        lambda: QbeastTable.for_path(SESSION, nothing),
        lambda: pyqbeast.upgrade(SESSION, nothing),
        lambda: pyqbeast.convert(SESSION, nothing, columns_to_index=["a"]),
    ):
        with pytest.raises(InvalidInputError, match="neither a path nor a URL"):
            call()
    assert not asked


def quantiles(df, *arguments):
    return lambda: pyqbeast.compute_quantiles_for_column(df, *arguments)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (quantiles("rows", "x"), "compute_quantiles_for_column takes a DataFrame, not 'rows'"),
        (quantiles(FRAME, 5), "takes the name of a column, not 5"),
        (quantiles(FRAME, "x", "50"), "a whole number, 2 or more, not '50'"),
        (quantiles(FRAME, "x", 2.5), "a whole number, 2 or more, not 2.5"),
        (quantiles(FRAME, "x", 5, "0.1"), "a number from 0 to 1, not '0.1'"),
        (quantiles(FRAME, "x", 5, True), "a number from 0 to 1, not True"),
        (lambda: converted([1]), "a list of column names, not [1]"),
        (lambda: converted("id"), "a list of column names, not 'id'"),
        (lambda: converted(None), "a list of column names, not None"),
        (
            lambda: optimized("x"),
            "files has to be a list of names, as the column file of blocks() has them, not 'x'",
        ),
        (
            lambda: optimized([1]),
            "files has to be a list of names, as the column file of blocks() has them, not [1]",
        ),
    ],
)
def test_mistakes_are_told_before_spark_is_asked(call, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        call()


def converted(columns):
    return pyqbeast.convert(SESSION, "parquet.`/t`", columns_to_index=columns)


def optimized(files):
    return QbeastTable(SESSION, "/t").optimize(files=files)


def test_convert_reads_the_backticks_of_a_path_as_sql_does():
    """As the advice of an explanation, and that for a path without a table, write them."""
    assert convert._kind_and_path(SESSION, "parquet.`/a``b`") == ("parquet", "/a`b")
    assert convert._kind_and_path(SESSION, "Delta.`/a``b```") == ("delta", "/a`b`")


def test_convert_takes_columns_without_their_kinds():
    assert "convert takes no kinds such as 'hashing'" in convert._meant("id:hashing", ["id"])
    assert convert._meant("idd", ["id"]) == "; did you mean 'id'?"


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("cubesizes", "cubeSize"),
        ("cube_size", "cubeSize"),
        ("columnToIndex", "columnsToIndex"),
        ("sampleFraction", "sampleFractions"),
        ("weightColumn", "weightColumns"),
        ("columnStat", "columnStats"),
        ("qbeast.cubeSizes", "cubeSize"),
        ("table.property.cube_size", "cubeSize"),
        ("desiredCubeSize", "cubeSize"),
    ],
)
def test_a_misspelt_option_of_a_write_is_told(option, meant):
    """Delta would ignore it, and the table would have another index than was asked for."""
    with pytest.raises(InvalidInputError, match=f"no option '{option}'; did you mean '{meant}'"):
        WriteOptions.parse({"path": "/t", option: "1"})


@pytest.mark.parametrize("prefix", ["", "qbeast.", "Qbeast.", "QBEAST."])
def test_options_of_the_index_may_have_a_prefix(prefix):
    asked = {f"{prefix}columnsToIndex": "a", f"{prefix}CUBESIZE": "9", f"{prefix}columnStats": "{}"}
    parsed = WriteOptions.parse({"path": "/t", **asked, f"{prefix}sampleFractions": "0.5"})
    assert (parsed.columns_to_index, parsed.cube_size, parsed.sample_fractions) == ("a", 9, "0.5")
    assert not parsed.delta


@pytest.mark.parametrize("other", ["cubesize", "CUBESIZE", "qbeast.cubeSize", "Qbeast.CubeSize"])
def test_of_two_properties_the_one_as_it_is_spelled_counts(other):
    """Another program may have stored both, in any order."""
    stored = {"cubeSize": "5", other: "6"}
    for configuration in (stored, dict(reversed(stored.items()))):
        assert WriteOptions.parse({"path": "/t"}).in_table(configuration).cube_size == 5


def test_options_of_delta_and_spark_are_no_misspelt_ones():
    assert set(options._SPELLED) == set(INDEX_OPTIONS.split())
    theirs = re.findall(
        r"\S+",
        """mergeSchema overwriteSchema replaceWhere replaceOn replaceUsing userMetadata txnAppId txnVersion
        partitionOverwriteMode maxRecordsPerFile dataChange compression optimizeWrite isolationLevel
        header checkpointLocation queryName columnNameOfCorruptRecord columnMapping clusteringColumns
        partitionColumns delta.columnMapping.mode fs.s3a.block.size
        table.property.pyqbeast.sampleFractions mode codec""",
    )
    parsed = WriteOptions.parse({"path": "/t", "CUBESIZE": "9", **dict.fromkeys(theirs, "1")})
    assert (parsed.cube_size, len(parsed.delta)) == (9, len(theirs))


def test_keys_of_column_stats_that_no_column_takes_are_told(caplog):
    transformers = (
        transformer_for("at", None, "TimestampDataType"),
        transformer_for("id", "hashing", "LongDataType"),
    )
    asked = WriteOptions.parse({"path": "/t", "columnStats": '{"ta_min": 0, "ta_max": 9, "id_min": 1}'})
    assert stated_columns.stated_statistics(SESSION, asked, transformers) == {}
    assert caplog.messages == [
        "/t: columnStats has 'ta_min', 'ta_max', 'id_min', which no indexed column takes, so it has no effect; keys "
        "that have one: at_min, at_max"
    ]
