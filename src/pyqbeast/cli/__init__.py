"""The command line, one module a command."""

import gc
import sys

from pyqbeast.core.errors import MissingPackageError
from pyqbeast.core.extras import of_extra


def main() -> None:
    """Runs the command line."""
    try:
        _run()
    except KeyboardInterrupt:  # while modules are imported; later click says the same
        raise SystemExit("\nAborted!") from None


def _run() -> None:
    try:
        for package in ("click", "rich"):
            of_extra("cli", package, "pyqbeast's commands")
    except MissingPackageError as error:
        raise SystemExit(f"error: {error}") from None
    from pyqbeast.cli.app import app

    # What commands hold of a large log is no garbage. Looking through it again and again takes a third of their time.
    gc.set_threshold(10_000_000)

    try:
        app()
    except OSError as error:
        # Help and versions are printed by click itself. An error about a file or a connection is another one.
        if error.filename is not None or isinstance(error, ConnectionError):
            raise
        from pyqbeast.cli import common

        raise SystemExit(f"error: {common.output_failed(sys.stdout, error)}") from None
