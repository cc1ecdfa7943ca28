"""`pyqbeast`: the commands put together. A command's module is imported once the command is asked for."""

from __future__ import annotations

import importlib
from typing import Any

import typer
from typer.core import TyperGroup

#: Modules of this package, in the order of the help page.
_COMMANDS = [
    "demo",
    "index",
    "info",
    "blocks",
    "sample",
    "optimize",
    "convert",
    "verify",
    "repair",
    "estimate",
    "plot",
    "dv",
    "upgrade",
    "clean",
    "doctor",
    "tiledb",
]


class _Commands(TyperGroup):
    """All commands. Most of them import Spark, which takes longer than what others do."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 (a context of click)
        """Their names."""
        return _COMMANDS

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 (a context and a command of click)
        """The command of a name; None if there is none."""
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"pyqbeast.cli.{cmd_name}")
        if hasattr(module, "app"):
            return typer.main.get_group(module.app)
        alone = typer.Typer(add_completion=False)
        alone.command()(getattr(module, cmd_name))
        return typer.main.get_command(alone)


app = typer.Typer(cls=_Commands, no_args_is_help=True, add_completion=False)


@app.callback()
def commands() -> None:
    """Multi-dimensionally indexed Delta tables: index, look into and sample them."""
