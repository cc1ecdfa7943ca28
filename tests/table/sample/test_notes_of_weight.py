"""Notes in a table's configuration that rows were chosen by their weight: each lands with the change it tells of."""

from __future__ import annotations

import contextlib

import pytest

import pyqbeast
from pyqbeast import UnsupportedError, bridge
from pyqbeast.core.format.constants import DELETED_BY_WEIGHT
from tests.table.help import ids, load

WEIGHT = "hash(a, b)"


def test_a_save_that_writes_nothing_leaves_no_note(spark, copied):
    before = bridge.TableLog(spark, copied).version
    load(spark, copied).sample(0.1).write.format("delta").mode("ignore").save(copied)
    assert bridge.TableLog(spark, copied).version == before


#: Statements that choose rows by their weight, and change none: the second ones fail.
CHANGELESS = {
    "DELETE FROM delta.`{}` WHERE id < 0 AND {}": None,
    "MERGE INTO delta.`{}` t USING (SELECT explode(array(1, 1)) AS one) s ON t.id = s.one AND {} "
    "WHEN MATCHED THEN UPDATE SET a = 1": "MERGE",
    "UPDATE delta.`{}` SET a = raise_error('as it was') WHERE {}": "as it was",
}


def test_a_statement_that_changes_no_row_leaves_no_note(spark, copied):
    before = bridge.TableLog(spark, copied).version
    for statement, raised in CHANGELESS.items():
        expected = contextlib.nullcontext() if raised is None else pytest.raises(Exception, match=raised)
        with expected:
            spark.sql(statement.format(copied, f"{WEIGHT} < 2000000000"))
        assert bridge.TableLog(spark, copied).version == before, statement


def test_a_note_lands_with_the_change_that_it_tells_of(spark, copied):
    before = bridge.TableLog(spark, copied).version
    spark.sql(f"DELETE FROM delta.`{copied}` WHERE {WEIGHT} < -2000000000")
    log = bridge.TableLog(spark, copied)
    assert log.version == before + 1
    assert DELETED_BY_WEIGHT in log.configuration
    assert spark.sql(f"DESCRIBE HISTORY delta.`{copied}`").first()["operation"] == "DELETE"


def test_a_note_of_what_the_gone_rows_show_lands_with_their_deletion(spark, copied):
    """Nothing of the statement tells that they are the lightest."""
    before = bridge.TableLog(spark, copied).version
    listed = ",".join(map(str, ids(load(spark, copied).sample(0.05))))
    spark.sql(f"DELETE FROM delta.`{copied}` WHERE id IN ({listed})")
    log = bridge.TableLog(spark, copied)
    assert log.version == before + 1
    assert DELETED_BY_WEIGHT in log.configuration
    with pytest.raises(UnsupportedError, match="deleted by the hash"):
        pyqbeast.scan(copied, version=before + 1).sample(0.1)
