"""`QbeastTable.repair`: one commit that makes the log say the truth of the files, as far as the files tell it."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from pyqbeast.core.errors import CommitConflictError
from pyqbeast.core.html import block_html, first_rows_html
from pyqbeast.core.problems import GAP, KEPT, REPLICATED, Problem
from pyqbeast.core.secrets import without_secrets
from pyqbeast.core.visible import counted
from pyqbeast.table.maintain.changed_files import changed_files
from pyqbeast.table.maintain.plan_repair import RepairPlan, plan_repair
from pyqbeast.table.maintain.repair_texts import Remedy
from pyqbeast.table.maintain.verify import Verified, look_at

_log = logging.getLogger(__name__)

#: How often the commit is tried again because another writer came first.
_ATTEMPTS = 10
#: What the table's history calls it.
_OPERATION = "REPAIR QBEAST INDEX"

#: The rules of all files together, which a log breaks or keeps whatever is in the files.
_OF_LOG = (GAP, KEPT, REPLICATED)

_CHANGED = "another writer has changed the file meanwhile; run repair again"


@dataclass(frozen=True)
class RepairReport:
    """What `repair` healed, or with `dry_run` would heal. `str()` tells it to a person.

    Attributes:
        path: where the table lies.
        dry_run: whether nothing was to be committed.
        version: the table's version with the changes in it; None where nothing was committed.
        files: how many files the log tells something else of.
        healed: problems, and what becomes of each.
        left: problems that nobody can heal by the log alone, and what can be done about each.
    """

    path: str
    dry_run: bool
    version: int | None
    files: int
    healed: tuple[Remedy, ...]
    left: tuple[Remedy, ...]

    @property
    def ok(self) -> bool:
        """Whether no problem is left."""
        return not self.left

    def to_dict(self) -> dict[str, Any]:
        """The fields and `ok`, as JSON can hold them."""
        return {"ok": self.ok, **asdict(self)}

    @property
    def summary(self) -> str:
        """What became of the table, as a line."""
        if not self.healed and not self.left:
            return f"{self.path} has no problems: nothing to repair"
        did = "would heal" if self.dry_run else "healed"
        at = f", version {self.version}" if self.version is not None else ""
        return f"{did} {counted(len(self.healed), 'problem')} in {counted(self.files, 'file')} of {self.path}{at}"

    def __str__(self) -> str:
        lines = [self.summary, *(f"  {remedy}" for remedy in self.healed)]
        if self.left:
            lines += [
                f"{counted(len(self.left), 'problem')} {'is' if len(self.left) == 1 else 'are'} left:",
                *(f"  {remedy}" for remedy in self.left),
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return block_html(
            self.summary,
            *(
                first_rows_html(noun, ("rule", "file", "problem", what), [_row(each) for each in remedies])
                for noun, what, remedies in (
                    ("healed problem", "what becomes of it", self.healed),
                    ("unhealed problem", "what can be done", self.left),
                )
            ),
        )


def _row(remedy: Remedy) -> tuple[str, str, str, str]:
    problem = remedy.problem
    return problem.rule, problem.file, problem.text, remedy.text


def repair(spark: SparkSession, path: str, *, dry_run: bool) -> RepairReport:
    """Heals the newest version of the table at a path; see `QbeastTable.repair`."""
    seen = look_at(spark, path, "data", wants_statistics=True)
    plan = plan_for(seen, seen)
    report = RepairReport(without_secrets(path), dry_run, None, len(plan.changes), plan.healed, plan.left)
    if dry_run or not (plan.changes or plan.settings):
        return report
    return _commit(spark, path, seen, plan, report)


def _commit(
    spark: SparkSession, path: str, seen: Verified, plan: RepairPlan, report: RepairReport
) -> RepairReport:
    log = seen.log
    for _ in range(_ATTEMPTS):
        _log.info("%s: changing what the log says of %d files", log.path, len(plan.changes))
        changed = changed_files(log, plan.changes)
        version = log.rewrite_entries(
            _OPERATION,
            changed,
            log.file_frame().limit(0),
            plan.settings,
            {"numRepairedFiles": str(len(plan.changes))},
        )
        if version is not None:
            files = len(plan.changes)
            return replace(report, version=version, files=files, healed=plan.healed, left=plan.left)
        # Other writers go on meanwhile, so the next attempt has to come soon.
        now = look_at(spark, path, "log", asks_storage=False)
        log = now.log
        if log.configuration != seen.log.configuration:
            break
        plan = plan_for(seen, now)
        if not (plan.changes or plan.settings):
            break
    raise CommitConflictError(
        f"{path} was changed by other writers while it was looked at, so nothing was repaired; run it again"
    )


def plan_for(seen: Verified, now: Verified) -> RepairPlan:
    """The plan for a version whose log was looked at, by what was seen in the files of an earlier one.

    What was wrong with a file that another writer has changed since is left. Trees are closed as they are now: the file
    that was to get a block without rows may be gone, or rows may have come below a file that loses its tags.
    """
    then = {file.path: file.logged for file in seen.files}
    same = {file.path for file in now.files if file.logged == then.get(file.path)}
    found = [problem for problem in now.report.problems if problem.rule in _OF_LOG]
    lost: list[Problem] = []
    for problem in seen.report.problems:
        if problem.rule not in _OF_LOG:
            (found if not problem.file or problem.file in same else lost).append(problem)
    plan = plan_repair(
        found,
        now.files,
        now.stored,
        now.log.configuration,
        seen.statistics,
        are_tags_compared=seen.are_tags_compared and not lost,
    )
    return replace(plan, left=(*plan.left, *(Remedy(problem, _CHANGED) for problem in lost)))
