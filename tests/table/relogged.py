"""Copies of tables whose logs say something else of the same files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path


def relogged(path, change):
    """A copy of a table, whose log holds what `change` makes of each added file and its blocks."""
    copy = f"{path}-relogged"
    shutil.copytree(
        path, copy, ignore=shutil.ignore_patterns("*.crc", "_last_checkpoint", "*.checkpoint.parquet")
    )
    for log_file in Path(copy, "_delta_log").glob("*.json"):
        lines = [json.loads(line) for line in log_file.read_text().splitlines()]
        for add in (line["add"] for line in lines if "add" in line):
            blocks = json.loads((add.get("tags") or {}).get("blocks", "[]"))
            change(add, blocks)
            if add.get("tags"):
                add["tags"]["blocks"] = json.dumps(blocks)
        log_file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return copy


def marked(path, is_chosen):
    """A copy of a table in which the blocks of the chosen cubes are marked as replicated."""

    def mark(_, blocks):
        for block in blocks:
            block["replicated"] = is_chosen(block["cubeId"])

    return relogged(path, mark)
