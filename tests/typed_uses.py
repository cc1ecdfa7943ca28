"""What users write and a type checker has to take. Nobody runs it: `make check` has mypy read it."""

from __future__ import annotations

from pyqbeast import QbeastTable


def hooks(table: QbeastTable) -> None:
    table.add_pre_commit_hook("files", lambda actions: {"files": sum("add" in action for action in actions)})
