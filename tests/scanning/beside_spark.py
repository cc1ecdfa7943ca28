"""Tables that tests have left, read by a scan and by Spark: each version that they went through (`pytest --scans`)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

import pyqbeast
from pyqbeast.core.errors import NotIndexedError, QbeastError, UnsupportedError
from pyqbeast.delta_log.log_files import readable_versions

FRACTION = 0.1


def compare_tables(spark, folder):
    """Raises AssertionError where a scan gives other rows than Spark, for a version of a table in the folder."""
    for log in sorted(Path(folder).rglob("_delta_log")):
        path = str(log.parent)
        try:
            versions = readable_versions(path)
        except QbeastError:
            continue
        for version in versions:
            compare_version(spark, path, version)


def compare_version(spark, path, version):
    """Compares a sample row by row, and the number of all rows. What Spark cannot read either is no difference."""
    try:
        scan = pyqbeast.scan(path, version)
        sample = scan.sample(FRACTION)
        count, mine = scan.select([]).to_arrow().num_rows, sample.to_arrow()
    except (NotIndexedError, UnsupportedError):
        return
    except QbeastError as error:
        mine = error
    try:
        frame = spark.read.format("qbeast").option("versionAsOf", version).load(path)
        right_count, right = frame.count(), frame.sample(FRACTION).toArrow()
    except (PySparkException, QbeastError, Py4JJavaError):
        return
    where = f"version {version} of {path}"
    if isinstance(mine, QbeastError):
        # Some tests plant damage. A scan refuses what Spark takes for a file without an index.
        is_damaged = not pyqbeast.QbeastTable.for_path(spark, path).verify("log").ok
        assert is_damaged, f"{where}: Spark reads it, and a scan says {mine}"
        return
    assert count == right_count, f"{where}: a scan counts {count} rows, Spark {right_count}"
    assert mine.column_names == right.column_names, where
    found, wanted = (Counter(map(repr, rows.to_pylist())) for rows in (mine, right))
    lost, gained = [*(wanted - found).elements()], [*(found - wanted).elements()]
    assert found == wanted, (
        f"{where}: {len(lost)} rows missing, as {lost[:2]}, {len(gained)} too many, as {gained[:2]}"
    )
