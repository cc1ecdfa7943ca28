"""`QbeastTable.clean`: deletes the files that writes left behind when they failed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from pyqbeast import bridge
from pyqbeast.core.arguments import is_whole_number
from pyqbeast.core.errors import ExecutionError, InvalidInputError
from pyqbeast.core.html import block_html, first_rows_html
from pyqbeast.core.secrets import without_secrets
from pyqbeast.core.visible import counted
from pyqbeast.table.locate import existing
from pyqbeast.verification.files_on_disk import RETENTION

#: The setting of a session by which Delta refuses shorter times than that.
_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
#: The condition of that error.
_TOO_SHORT = "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT"


@dataclass(frozen=True)
class CleanReport:
    """What `clean` deleted, or with `dry_run` would delete. `str()` tells it to a person.

    Attributes:
        path: where the table lies.
        dry_run: whether nothing was to be deleted.
        files: files, and folders that are empty then, as whole locations.
    """

    path: str
    dry_run: bool
    files: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @property
    def summary(self) -> str:
        """What became of the folder, as a line."""
        if not self.files:
            return f"nothing to clean in {self.path}"
        return f"{'would delete' if self.dry_run else 'deleted'} {counted(len(self.files), 'file')} of {self.path}"

    def __str__(self) -> str:
        if not self.files:
            return self.summary
        return "\n".join([f"{self.summary}:", *(f"  {file}" for file in self.files)])

    def _repr_html_(self) -> str:
        return block_html(self.summary, first_rows_html("file", ("file",), [(each,) for each in self.files]))


def clean(spark: SparkSession, path: str, retain_hours: int | None, *, dry_run: bool) -> CleanReport:
    """Cleans the folder of the table at a path; see `QbeastTable.clean`."""
    if retain_hours is not None and (not is_whole_number(retain_hours) or retain_hours < 0):
        raise InvalidInputError(f"retain_hours has to be a whole number of hours, not {retain_hours!r}")
    log = existing(bridge.TableLog(spark, path), path)
    try:
        files = log.clean(None if retain_hours is None else int(retain_hours), dry_run=dry_run)
    except IllegalArgumentException as error:
        if error.getCondition() != _TOO_SHORT:
            raise ExecutionError(str(error)) from error
        raise InvalidInputError(
            f"{path} was not cleaned: {retain_hours} hours are fewer than its property {RETENTION} keeps files, "
            f"which running writes and readers of older versions need. Lower the property, or set {_CHECK} to false "
            "where nobody else uses the table"
        ) from error
    return CleanReport(without_secrets(path), dry_run, tuple(map(without_secrets, sorted(files))))
