"""Whether other readers get a table right, judged by its log alone: no Spark, no JVM, no data file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.file_tags import are_legacy, of_any_revision
from pyqbeast.core.format.hashed_layout import mapping_mode
from pyqbeast.core.html import block_html, first_rows_html, texts_html
from pyqbeast.core.location import Location
from pyqbeast.core.revisions.revision import RevisionSet
from pyqbeast.core.secrets import without_secrets
from pyqbeast.core.sharing.findings import Finding, SharedFile, SharedTable, findings, in_order
from pyqbeast.core.sharing.readers import READERS
from pyqbeast.delta_log import locations
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.delta_log.live_file import LiveFile
from pyqbeast.delta_log.reader import read_snapshot
from pyqbeast.delta_log.tags_in_bulk import tags_in_bulk


@dataclass(frozen=True)
class Diagnosis:
    """What one reader gets wrong in a version of a table, and the commands that mend all of it. `str()` tells a person.

    Attributes:
        table: where it lies, without the secrets of a URL.
        version: the version that was looked at.
        reader: the reader's name.
        title: the program and version that the name stands for.
        findings: what it gets wrong.
    """

    table: str
    version: int
    reader: str
    title: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether the reader gets everything right."""
        return not self.findings

    @property
    def commands(self) -> list[str]:
        """What makes the table safe for the reader, in this order."""
        return in_order(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "table": self.table,
            "version": self.version,
            "reader": self.reader,
            "title": self.title,
            "ok": self.ok,
            "findings": [
                {
                    "way": finding.way,
                    "outcome": finding.outcome.value,
                    "text": finding.text,
                    "commands": in_order([finding]),
                }
                for finding in self.findings
            ],
            "commands": self.commands,
        }

    def __str__(self) -> str:
        head = f"{self.reader} ({self.title}): "
        if self.ok:
            return head + "nothing in the log that it would get wrong"
        lines = [head.rstrip()]
        for finding in self.findings:
            way = f"{finding.way}: " if finding.way else ""
            lines.append(f"  {finding.outcome.value:<10}  {way}{finding.text}")
        if self.commands:
            lines += ["  made safe by, in this order:", *(f"    {command}" for command in self.commands)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = f"{self.reader} ({self.title}), version {self.version} of {self.table}"
        rows = [(each.outcome.value, each.way, each.text) for each in self.findings]
        return block_html(
            head,
            first_rows_html("finding", ("outcome", "way", "finding"), rows),
            first_rows_html("command", ("made safe by, in this order",), [(each,) for each in self.commands]),
            texts_html([] if rows else ["Nothing in the log that it would get wrong."]),
        )


def diagnose(
    table: Location, reader: str | None = None, *, storage_options: locations.Options = None
) -> list[Diagnosis]:
    """What readers would get wrong in the newest version of a table: one of `READERS`, or all of them.

    `storage_options` go to fsspec.

    Raises:
        InvalidInputError: a reader that is not known.
        TableNotFoundError: there is no Delta table.
        NotIndexedError: there is one, and it is not indexed.
        FormatError: its log is broken.
        UnsupportedError: the table needs a reader feature that may change what the log means.
    """
    if reader is not None and (not isinstance(reader, str) or reader not in READERS):
        raise InvalidInputError(f"reader has to be one of {', '.join(READERS)}, not {reader!r}")
    snapshot = read_snapshot(table, storage_options=storage_options)
    revisions = IndexedSnapshot.of(table, snapshot).revisions
    shared = SharedTable(
        # Who runs a command fills the password in.
        without_secrets(locations.absolute(table)),
        snapshot.protocol.reader_version,
        snapshot.protocol.writer_version,
        snapshot.protocol.reader_features,
        snapshot.protocol.writer_features,
        snapshot.metadata.fields,
        mapping_mode(snapshot.metadata.configuration),
        revisions,
        _shared(snapshot.files, revisions),
    )
    return [
        Diagnosis(shared.path, snapshot.version, name, READERS[name].title, tuple(findings(shared, name)))
        for name in (READERS if reader is None else [reader])
    ]


def _shared(files: Sequence[LiveFile], revisions: RevisionSet) -> list[SharedFile]:
    all_tags = tags_in_bulk([file.tags for file in files], revisions.dimensions.get)
    # Readers that know nothing of copies count those of a lost revision too.
    return [
        SharedFile(
            tags._replace(blocks=of_any_revision(tags, file.tags).blocks),
            are_legacy(file.tags),
            file.deleted,
        )
        for file, tags in zip(files, all_tags, strict=True)
    ]
