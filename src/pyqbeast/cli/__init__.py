"""The command line, one module a command. May import everything else; nothing imports it."""

from pyqbeast.core.errors import MissingPackageError
from pyqbeast.core.extras import of_extra


def main() -> None:
    """Runs the command line."""
    try:
        for package in ("typer", "rich"):
            of_extra("cli", package, "pyqbeast's commands")
    except MissingPackageError as error:
        raise SystemExit(f"error: {error}") from None
    from pyqbeast.cli.app import app

    app()
