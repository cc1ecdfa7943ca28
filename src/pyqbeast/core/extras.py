"""Imports packages that come with an extra (`pip install 'pyqbeast[tiledb]'`) when something first needs them."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

from pyqbeast.core.errors import MissingPackageError


def of_extra(extra: str, package: str, purpose: str) -> Any:  # noqa: ANN401 (a module)
    """A module of a package that `pyqbeast[extra]` installs.

    Args:
        extra: The name of the extra.
        package: The module's name.
        purpose: What needs it, as the subject of a sentence in the plural.

    Raises:
        MissingPackageError: It is not installed, or cannot be imported.
    """
    top = package.partition(".")[0]
    try:
        return importlib.import_module(package)
    except ImportError as error:
        install = f"pip install 'pyqbeast[{extra}]'"
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == top:
            raise MissingPackageError(f"{purpose} need the package {top}: {install}") from error
        raise MissingPackageError(
            f"{purpose} need the package {top}, which cannot be imported: {error}; {install}"
        ) from error


def is_installed(package: str) -> bool:
    """Whether a package is there, as far as that shows without an import of it."""
    try:
        return find_spec(package) is not None
    except ImportError:  # some finders refuse a name so
        return False
