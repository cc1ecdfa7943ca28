"""The commands that change a table so that another reader gets it right."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from pyqbeast.core.format.names import quoted_name
from pyqbeast.core.revisions.revision import Revision

VECTORS_FEATURE = "deletionVectors"
MAPPING = "columnMapping"
#: The feature that Delta adds to a table when another one is dropped, as older versions of the table still need
#: the other one.
PROTECTION = "checkpointProtection"
#: To drop these features Delta rewrites files, and the new files have no index.
_REWRITTEN = {MAPPING, "typeWidening", "typeWidening-preview"}
#: The others that Delta can take out of a table.
_REMOVABLE = {"v2Checkpoint", "vacuumProtocolCheck", "rowTracking", "inCommitTimestamp"}


class _Step(IntEnum):
    repair = 0
    upgrade = 1
    settings = 2
    drop_and_rewrite = 3
    optimize = 4
    drop = 5
    drop_protection = 6
    write_anew = 7


@dataclass(frozen=True, order=True)
class Command:
    """A line for the shell (`pyqbeast …`), for SQL (`ALTER TABLE …`) or for Python. `step` says when its turn is."""

    step: int
    text: str

    @property
    def drops(self) -> bool:
        """Whether it takes a feature out of the protocol."""
        return self.step in (_Step.drop, _Step.drop_and_rewrite)


class Remedies:
    """Commands for the table at a path."""

    def __init__(self, path: str) -> None:
        self.path = path

    def repair(self) -> Command:
        """Makes a table go on with the revisions that can be read, or says what to do where none can."""
        return Command(_Step.repair, f"pyqbeast repair {shlex.quote(self.path)} --yes")

    def upgrade(self, *, drop_replicated: bool) -> Command:
        """Brings a table from before format 0.6 up to date, or drops files of replicated rows."""
        dropping = " --drop-replicated" if drop_replicated else ""
        return Command(_Step.upgrade, f"pyqbeast upgrade {shlex.quote(self.path)}{dropping}")

    def optimize(self, revisions: Iterable[int]) -> list[Command]:
        """Rewrites files with deleted rows, closes gaps between cubes, and indexes the files of revision 0."""
        return [
            Command(_Step.optimize, f"pyqbeast optimize {shlex.quote(self.path)} --revision {number}")
            for number in revisions
        ]

    def no_more_vectors(self) -> Command:
        """Makes later deletes rewrite files instead of marking rows."""
        return self._alter(_Step.settings, "SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')")

    def drop(self, feature: str) -> list[Command]:
        """Takes a feature out of the protocol. No command if Delta cannot."""
        if feature == VECTORS_FEATURE:
            return [self.no_more_vectors(), self._alter(_Step.drop, f"DROP FEATURE {feature}")]
        if feature in _REWRITTEN:
            return [self._alter(_Step.drop_and_rewrite, f"DROP FEATURE {feature}"), *self.optimize([0])]
        if feature == PROTECTION:
            later = "DROP FEATURE checkpointProtection TRUNCATE HISTORY"
            return [self._alter(_Step.drop_protection, f"{later} -- a day after the others")]
        return [self._alter(_Step.drop, f"DROP FEATURE {feature}")] if feature in _REMOVABLE else []

    def write_anew(self, revision: Revision, casts: Mapping[str, str], names: Mapping[str, str]) -> Command:
        """Writes the rows into another table that every reader can open, with other types or names for some columns."""
        steps = [
            f".withColumn({name!r}, F.col({quoted_name(name)!r}).cast({to!r}))" for name, to in casts.items()
        ]
        steps += [f".withColumnRenamed({old!r}, {new!r})" for old, new in names.items()]
        specs = [
            names.get(each.column, each.column)
            if each.needs_users or not each.can_be_chosen
            else f"{names.get(each.column, each.column)}:{each.kind}"
            for each in revision.transformers
        ]
        options = {
            "columnsToIndex": ",".join(specs),
            "cubeSize": revision.cube_size,
            "delta.enableDeletionVectors": "false",
        }
        # Behind a slash, which the root of a bucket ends with, it would lie in the table, where VACUUM deletes it.
        beside = self.path.rstrip("/") + "-shared"
        return Command(
            _Step.write_anew,
            f'spark.read.format("qbeast").load({self.path!r}){"".join(steps)}'
            f'.write.format("qbeast").options(**{options!r}).save({beside!r})',
        )

    def _alter(self, step: _Step, change: str) -> Command:
        return Command(step, f"ALTER TABLE delta.{quoted_name(self.path)} {change}")
