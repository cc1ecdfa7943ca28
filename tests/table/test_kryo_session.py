"""A session whose tasks send their results home by Kryo, as `spark.serializer` asks for."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: The session is one of its own: Spark takes the setting when its JVM starts.
pytestmark = pytest.mark.jvm

KEEP_A_TABLE = """
import sys
from pathlib import Path

from tests.machine import RUNS_ONCE
from tests.spark_session import make_session
from tests.table.help import holds, ids, load, rows_2d, save

folder = Path(sys.argv[1])
table = str(folder / "table")
settings = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
spark = make_session(folder, settings, RUNS_ONCE)
save(rows_2d(spark, 2_000), table, cubeSize=1_000)
for sums in (folder / "table" / "_delta_log").glob("*.crc"):
    sums.unlink()  # other engines write none, and what files there are takes a job then
save(rows_2d(spark, 100, first=2_000), table)
assert ids(load(spark, table).sample(0.5))
holds(spark, table).optimize(revision=1)
"""


def test_a_table_is_written_verified_and_optimized(tmp_path):
    """Kryo cannot read Java's records, so no result may be one."""
    run = [sys.executable, "-c", KEEP_A_TABLE, str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
