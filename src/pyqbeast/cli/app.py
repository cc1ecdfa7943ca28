"""`pyqbeast`: the commands put together. A command's module is imported once the command is asked for."""

from __future__ import annotations

import importlib

import click

import pyqbeast

#: Modules of this package, in the order of the help page. Each has its command under its own name.
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
    "prepare",
    "tiledb",
]


class _Commands(click.Group):
    """All commands. Most of them import Spark, which takes longer than what others do."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return _COMMANDS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; None if there is none."""
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"pyqbeast.cli.{cmd_name}"), cmd_name)
        return command


@click.group(cls=_Commands)
@click.version_option(pyqbeast.__version__, message="%(prog)s %(version)s")
def app() -> None:
    """Multi-dimensionally indexed Delta tables: index, look into and sample them."""
