"""One operation on a table with one call that fails, and whether all is as it should be."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import SparkSession

from pyqbeast import QbeastTable, UncertainWriteError
from pyqbeast.core.errors import QbeastError
from tests.faults import Faults
from tests.spark_session import under
from tests.sweep.operations import Operation
from tests.sweep.outcome import Outcome
from tests.sweep.state import State, in_order, kind_of, rows_of, state_of, strays
from tests.sweep.ways import CAUSES, Way
from tests.table.help import load

#: Whether Delta refuses to delete files that are younger than a week.
RETENTION_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
#: What a message says of the table.
OUTCOMES = ("as it was", "nothing was", "may have landed", "no row has changed")


class Sweep:
    """All cases of one operation.

    Args:
        spark: a session that knows the scheme `faulty`.
        faults: says which call fails.
        operation: what is swept.
        folder: takes the tables; a folder of its own.
    """

    def __init__(self, spark: SparkSession, faults: Faults, operation: Operation, folder: Path) -> None:
        self.spark, self.faults, self.operation, self.folder = spark, faults, operation, folder
        self.cases = 0
        (folder / "before").mkdir(parents=True)
        operation.prepare(spark, str(folder / "before" / "table"))
        self.before = state_of(folder / "before" / "table")
        place = self._place()
        faults.clear()
        faults.record()
        operation.change(spark, faults.path(place))
        #: The calls of the operation when nothing fails.
        self.calls = [call for call in faults.calls if str(place) in call[1]]
        faults.clear()
        self.after = state_of(place)
        assert self.after != self.before
        #: Files of others, such as the mark that Spark leaves beside Parquet files.
        self.others = strays(folder / "before" / "table") & strays(place)
        #: The folder of the last case, which is kept until the next.
        self.place = place

    def run(self, way: Way, k: int) -> Outcome:
        """One case.

        Raises:
            AssertionError: what is not as it should be.
        """
        # Tasks of a write that has failed may still delete their files there, and nobody looks at it any more.
        shutil.rmtree(self.place.parent, ignore_errors=True)
        self.place = self._place()
        path = self.faults.path(self.place)
        self.faults.clear()
        way.arm(self.faults, str(self.place), k)
        error: Exception | None = None
        try:
            self.operation.change(self.spark, path)
        except Exception as raised:
            error = raised
        failed = self.faults.failed
        self.faults.clear()
        found = state_of(self.place)
        if not failed:
            assert error is None, error
            assert found == self.after
            return Outcome("none")
        result = self._judge(way, found, error)
        if found == self.after and self.operation.repeatable:
            self.verified()  # before the operation is done again, which makes the index anew
        if result != "new" or self.operation.repeatable:
            self._again(found)
        return Outcome(result, frozenset(map(kind_of, strays(self.place) - self.others)))

    def _judge(self, way: Way, found: State, error: Exception | None) -> str:
        between = self.operation.between
        is_told = between and (between in str(error) or isinstance(error, UncertainWriteError))
        # The first of two commits has all rows already.
        is_between = is_told and found.rows == self.after.rows
        assert found in (self.before, self.after) or is_between, (
            f"neither old nor new: version {found.version}, {len(found.rows)} rows; {error!r}"
        )
        if error is None:
            assert found == self.after, "the operation did not say that it failed"
            return "new"
        text = str(error)
        by_delta = self.operation.by_delta
        assert by_delta or isinstance(error, QbeastError) or self.operation.name == "stream batch", (
            f"no error of ours: {error!r}"
        )
        assert str(self.place) in text, f"the message does not name the path: {error!r}"
        assert any(cause in text for cause in CAUSES), f"the message does not name the cause: {error!r}"
        assert by_delta or any(outcome in text for outcome in OUTCOMES), (
            f"what became of the table? {error!r}"
        )
        if isinstance(error, UncertainWriteError):
            assert way.onwards, f"one failure does not make a commit uncertain: {error!r}"
            return "uncertain"
        is_ours = isinstance(error, QbeastError) or any(outcome in text for outcome in OUTCOMES)
        if by_delta and not is_ours and found == self.after:
            return "landed"
        assert found != self.after, f"the operation said that it failed, and has landed: {error!r}"
        return "old"

    def _again(self, found: State) -> None:
        """The storage works again, and so does the operation."""
        if found != self.after or self.operation.repeatable:
            self.operation.change(self.spark, self.faults.path(self.place))
        again = state_of(self.place)
        assert again.same_content(self.after), (
            f"after a retry: version {again.version}, {len(again.rows)} rows"
        )

    def verified(self) -> None:
        """The index of the last case's table says the truth, and Spark reads the same rows."""
        report = QbeastTable.for_path(self.spark, str(self.place)).verify()
        assert report.ok, str(report)
        # Delta answers a count from the log.
        read = in_order(rows_of(load(self.spark, str(self.place)).toArrow()))
        assert read == self.after.rows, f"Spark reads {len(read)} rows, not all of them these"

    def cleaned(self) -> None:
        """What the last case left behind is what `clean` removes."""
        with under(self.spark, {RETENTION_CHECK: "false"}):
            QbeastTable.for_path(self.spark, str(self.place)).clean(0, dry_run=False)
        left = strays(self.place) - self.others
        assert not left, f"clean leaves {left}"
        assert state_of(self.place).same_content(self.after)

    def _place(self) -> Path:
        self.cases += 1
        place = self.folder / str(self.cases)
        shutil.copytree(self.folder / "before", place)
        return place / "table"
