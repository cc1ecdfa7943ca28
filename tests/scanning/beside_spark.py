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


class BesideSpark:
    """Compares tables.

    Attributes:
        versions: how many versions of tables were compared, and how many not: those that a scan refuses to read, those
            that Spark refuses, and those of which Spark says that they are damaged.
    """

    def __init__(self):
        self.versions = Counter(compared=0, refused=0, unreadable=0, damaged=0)

    def __str__(self):
        return ", ".join(f"{number} {what}" for what, number in self.versions.items())

    def end(self):
        """Raises AssertionError where nothing was compared: then no difference says nothing."""
        assert self.versions["compared"], f"no version of a table was read by a scan and by Spark: {self}"

    def compare_tables(self, spark, folder):
        """Raises AssertionError where a scan gives other rows than Spark, for a version of a table in the folder."""
        for log in sorted(Path(folder).rglob("_delta_log")):
            path = str(log.parent)
            try:
                versions = readable_versions(path)
            except QbeastError:
                continue
            for version in versions:
                self.versions[compare_version(spark, path, version)] += 1


def compare_version(spark, path, version):
    """Compares all rows and those of a sample, each row, and says what came of it.

    What Spark cannot read either is no difference.
    """
    try:
        scan = pyqbeast.scan(path, version)
        mine = [each.to_arrow() for each in (scan, scan.sample(FRACTION))]
    except (NotIndexedError, UnsupportedError):
        return "refused"
    except QbeastError as error:
        mine = error
    try:
        frame = spark.read.format("qbeast").option("versionAsOf", version).load(path)
        right = [each.toArrow() for each in (frame, frame.sample(FRACTION))]
    except (PySparkException, QbeastError, Py4JJavaError):
        return "unreadable"
    where = f"version {version} of {path}"
    if isinstance(mine, QbeastError):
        # Some tests plant damage. A scan refuses what Spark takes for a file without an index.
        is_damaged = not pyqbeast.QbeastTable.for_path(spark, path).verify("log").ok
        assert is_damaged, f"{where}: Spark reads it, and a scan says {mine}"
        return "damaged"
    for what, found, wanted in zip(("all rows", "a sample"), mine, right, strict=True):
        _same(f"{what} of {where}", found, wanted)
    return "compared"


def _same(what, mine, right):
    assert mine.column_names == right.column_names, what
    found, wanted = (Counter(map(repr, rows.to_pylist())) for rows in (mine, right))
    lost, gained = [*(wanted - found).elements()], [*(found - wanted).elements()]
    assert found == wanted, (
        f"{what}: {len(lost)} rows missing, as {lost[:2]}, {len(gained)} too many, as {gained[:2]}"
    )
