"""A new kind of transformer is one file and one entry of the registry: the example of CONTRIBUTING, on a table."""

from __future__ import annotations

import importlib.util
import math
import re
import sys
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.core.transform import registry
from pyqbeast.table.coordinates import coordinates
from tests.table.help import holds, ids, load, save

PAGE = Path(__file__).parents[3] / "CONTRIBUTING.md"


@pytest.fixture
def clock(tmp_path, monkeypatch):
    """The module of the example, its kind registered."""
    file = tmp_path / "clock.py"
    (text,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("clock", file)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "clock", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(registry, "TRANSFORMERS", (*registry.TRANSFORMERS, module.ClockTransformer))
    return module


@pytest.fixture
def known_to_java(spark, clock):
    """What the next build would tell Java of the kind."""
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    constants = loader.loadClass("io.pyqbeast.format.Constants")

    def names(field):
        found = constants.getDeclaredField(field)
        found.setAccessible(True)
        return found.get(None)

    name, transformation = clock.ClockTransformer.class_name, clock.Clock.class_name
    names("TRANSFORMERS").put(name, clock.ClockTransformer.type_field)
    names("TRANSFORMATIONS").add(transformation)
    yield
    names("TRANSFORMERS").remove(name)
    names("TRANSFORMATIONS").remove(transformation)


def test_the_kind_goes_with_its_types(clock):
    assert registry.transformer_for("at", "clock", "TimestampDataType") == clock.ClockTransformer(
        "at", "TimestampDataType"
    )
    assert registry.transformer_for("at", None, "TimestampDataType").kind == "linear"
    with pytest.raises(InvalidInputError, match="cannot be indexed by clock: use linear or hashing"):
        registry.transformer_for("n", "clock", "LongDataType")


@pytest.mark.usefixtures("known_to_java")
def test_a_table_is_indexed_by_it(spark, table_path, clock):
    """Before 1970 and after, with nulls, appended to; rows lie where the kind puts them and nowhere else."""
    columns = (
        "id",
        "if(id % 50 = 7, null, timestamp_millis((id - 40) * 9876543)) as at",
        "id * 7 % 100 as n",
    )
    rows = spark.range(200).selectExpr(*columns)
    save(rows.filter("id < 150"), table_path, columnsToIndex="at:clock,n", cubeSize=20)
    save(rows.filter("id >= 150"), table_path, columnsToIndex=None, cubeSize=None)
    table = holds(spark, table_path)
    revision = table.latest_revision
    assert (revision.id, revision.transformations[0]) == (1, clock.Clock())
    assert Revision.from_json(revision.to_json()) == revision
    assert table.metrics().height > 1
    at, _ = coordinates(spark, revision, dict(rows.dtypes))
    for milliseconds, place in rows.select(F.unix_millis("at"), at).collect():
        assert place == clock.Clock().coordinate(milliseconds)
        assert 0.0 <= place < 1.0
        assert not math.isnan(place)
    assert ids(load(spark, table_path)) == list(range(200))
    condition = "at > timestamp'1970-01-03' AND n < 50"
    assert ids(load(spark, table_path).filter(condition)) == ids(rows.filter(condition))
    assert ids(load(spark, table_path).sample(0.3)) == ids(
        rows.filter(f"hash(at, n) < {int(0.3 * (2**32 - 1) - 2**31)}")
    )
