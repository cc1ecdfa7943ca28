"""`pyqbeast plot`: a picture of a table or an array."""

from __future__ import annotations

from pathlib import Path

import click

from pyqbeast import plot as pictures
from pyqbeast.cli import common
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.location import local_file
from pyqbeast.core.secrets import without_secrets

#: A page of ours has it near its beginning.
_GENERATOR = b'<meta name="generator" content="pyqbeast">'


@common.command
@click.argument("path")
@click.option(
    "--to",
    "-o",
    "target",
    type=click.Path(),
    show_default="index.html",
    help="The file: .html for a page to explore, .png or .svg for a report.",
)
@click.option("--version", type=int, help="Of a table; by default the newest.")
def plot(path: str, target: str | None, version: int | None, output: common.Output) -> None:
    """Draw the tree, cubes and samples of the table at PATH.

    Its history too; of a TileDB array at PATH the fragments. Needs no Spark.
    """
    file = local_file(_page_of_ours() if target is None else target)
    ending = file.suffix.lower()
    if ending == ".html":
        pictures.page(path, file, version=version)
    elif ending in (".png", ".svg"):
        pictures.image(path, file, version=version)
    else:
        raise InvalidInputError(
            f"a picture is written to a file that ends in .html, .png or .svg, not to {file}"
        )
    size = file.stat().st_size
    common.show(
        output,
        lambda: {"path": without_secrets(path), "target": str(file), "bytes": size},
        lambda: f"wrote {file}, {size:,} bytes",
    )


def _page_of_ours() -> Path:
    """The file of a page for which nobody names one. Raises InvalidInputError where something else stands there."""
    page = Path("index.html")
    try:
        is_ours = _GENERATOR in page.read_bytes()[:1_000]
    except FileNotFoundError:
        return page
    except OSError as error:
        raise InvalidInputError(
            f"{page} cannot be replaced, {error.strerror}: name another file by --to"
        ) from error
    if not is_ours:
        raise InvalidInputError(f"{page} is there, and pyqbeast has not made it: name another file by --to")
    return page
