"""`pyqbeast plot`: a picture of a table or an array."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyqbeast import plot as pictures
from pyqbeast.cli import common
from pyqbeast.core.errors import InvalidInputError


def plot(
    path: Annotated[str, typer.Argument(help="Where the table or the TileDB array lies.")],
    target: Annotated[
        Path,
        typer.Option("--to", "-o", help="The file: .html for a page to explore, .png or .svg for a report."),
    ] = Path("index.html"),
    version: Annotated[
        int | None, typer.Option("--version", help="Of a table; by default the newest.")
    ] = None,
    output: common.OutputOption = common.Output.text,
    debug: common.DebugOption = False,
) -> None:
    """Draw a table's tree, cubes, samples and history, or an array's fragments; needs no Spark."""
    with common.errors_as_one_line(debug=debug):
        ending = target.suffix.lower()
        if ending == ".html":
            pictures.page(path, target, version=version)
        elif ending in (".png", ".svg"):
            pictures.image(path, target, version=version)
        else:
            raise InvalidInputError(
                f"a picture is written to a file that ends in .html, .png or .svg, not to {target}"
            )
        size = target.stat().st_size
        if output is common.Output.json:
            common.print_json({"path": path, "target": str(target), "bytes": size})
        else:
            typer.echo(f"wrote {target}, {size:,} bytes")
