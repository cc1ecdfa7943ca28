"""The command line, one module a command. May import everything else; nothing imports it."""

from pyqbeast.cli.app import main

__all__ = ["main"]
