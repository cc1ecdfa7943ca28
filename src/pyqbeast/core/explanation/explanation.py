"""What a query opens, as a page to read, for notebooks, and for programs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from pyqbeast.core.explanation.advice import advice
from pyqbeast.core.explanation.scans import SKIPPED_BY, Amount, TableScan
from pyqbeast.core.html import block_html, table_html, texts_html
from pyqbeast.core.visible import counted

#: How the page names who skips files, and why they do.
_SKIPPERS = {"index": "the index", "delta": "Delta"}
_REASONS = {
    "weights": "all their rows have weights outside the sample",
    "replicated": "other files hold the same rows",
    "partitions": "they are of other partitions",
    "statistics": "no value in their statistics meets the conditions",
    "limit": "the others hold enough rows for the limit",
}
_NOTHING = "This query opens no files: its rows are on the driver, or the log of the table answers it."


@dataclass(frozen=True)
class Explanation:
    """What a query opens, or has opened. `str()` is a page to read, and notebooks show tables.

    Attributes:
        scans: one for each table in each place of the query, those of subqueries too. A part that Spark finds twice in
            the plan is run once, and told once.
    """

    scans: tuple[TableScan, ...]

    def to_dict(self) -> dict[str, Any]:
        """All figures by their names, as JSON can hold them; `advice` says what would help."""
        return {
            "scans": [
                {
                    **dataclasses.asdict(scan),
                    "skipped": [
                        {"by": SKIPPED_BY[why], "reason": why, **dataclasses.asdict(amount)}
                        for why, amount in scan.skipped.items()
                    ],
                    "sample_share": scan.sample_share,
                    "advice": advice(scan),
                }
                for scan in self.scans
            ]
        }

    def __str__(self) -> str:
        return "\n".join("\n  ".join([_title(scan), *_lines(scan)]) for scan in self.scans) or _NOTHING

    def _repr_html_(self) -> str:
        return "".join(map(_scan_html, self.scans)) or texts_html([_NOTHING])


def _title(scan: TableScan) -> str:
    if scan.version is None:
        return scan.table
    by = f"indexed by {', '.join(scan.indexed_columns)}" if scan.indexed_columns else "not indexed"
    beside = f", with the weightColumns {', '.join(scan.weight_columns)}" if scan.weight_columns else ""
    return f"{scan.table}, version {scan.version}, {by}{beside}"


def _lines(scan: TableScan) -> list[str]:
    lines = [_opening(scan), *_notes(scan)]
    lines += [
        f"{_SKIPPERS[SKIPPED_BY[why]]} skips {_files_of(amount, scan.total)}: {_REASONS[why]}"
        for why, amount in scan.skipped.items()
    ]
    lines += [
        f"by itself, {condition.text} skips {_files_of(condition.skips, scan.total)}"
        for condition in scan.conditions
    ]
    if scan.ran is not None:
        lines.append(
            f"has run: opened {counted(scan.ran.files, 'file')} of {scan.ran.bytes:,} bytes, and handed on "
            f"{counted(scan.ran.rows or 0, 'row')}"
        )
    return lines + [f"what would help: {sentence}" for sentence in advice(scan)]


def _opening(scan: TableScan) -> str:
    if scan.opened is None or scan.total is None:
        return "nothing is known of it before it runs"
    parts = [f"{scan.opened.bytes:,} of {scan.total.bytes:,} bytes{_share(scan.opened, scan.total)}"]
    if scan.opened.rows is not None and scan.total.rows is not None:
        parts.append(f"{scan.opened.rows:,} of {scan.total.rows:,} rows")
    if scan.row_groups is not None:
        parts.append("{:,} of their {:,} row groups".format(*scan.row_groups))
    return f"opens {scan.opened.files:,} of {counted(scan.total.files, 'file')}: {', '.join(parts)}"


def _notes(scan: TableScan) -> list[str]:
    notes = []
    if scan.sample_share is not None:
        notes.append(f"the sample takes the weights of {scan.sample_share:.4g} of their range")
    if scan.is_cached:
        notes.append("the rows come from Spark's cache, which this scan fills")
    return notes


def _scan_html(scan: TableScan) -> str:
    head = ["", "files", "bytes", "rows"]
    amounts = {"opens": scan.opened, "of": scan.total, "has opened, and handed on": scan.ran}
    rows = [_row(name, amount) for name, amount in amounts.items() if amount is not None]
    rows += [
        _row(f"{_SKIPPERS[SKIPPED_BY[why]]} skips, as {_REASONS[why]}", amount)
        for why, amount in scan.skipped.items()
    ]
    conditions = [_row(condition.text, condition.skips) for condition in scan.conditions]
    helps = [f"What would help: {sentence}" for sentence in advice(scan)]
    return block_html(
        _title(scan),
        texts_html([_opening(scan), *_notes(scan)]),
        table_html("Files", head, rows) if rows else "",
        table_html("What each condition skips by itself", ["condition", *head[1:]], conditions)
        if conditions
        else "",
        texts_html(helps),
    )


def _row(name: str, amount: Amount) -> tuple[object, ...]:
    return name, amount.files, amount.bytes, "" if amount.rows is None else amount.rows


def _files_of(amount: Amount, total: Amount | None) -> str:
    if amount.files == 0:
        return "no file"
    return f"{counted(amount.files, 'file')} of {amount.bytes:,} bytes{_share(amount, total)}"


def _share(amount: Amount, total: Amount | None) -> str:
    return f" ({amount.bytes / total.bytes:.2%})" if total is not None and total.bytes else ""
