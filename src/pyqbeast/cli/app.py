"""`pyqbeast`: the commands put together."""

from __future__ import annotations

import typer

from pyqbeast.cli import care, demo, doctor, dv, estimate, index, inspect, upgrade
from pyqbeast.tiledb.cli import app as tiledb_app

app = typer.Typer(
    help="Multi-dimensionally indexed Delta tables: index, look into and sample them.",
    no_args_is_help=True,
    add_completion=False,
)
app.command()(demo.demo)
app.command()(index.index)
app.command()(inspect.info)
app.command()(inspect.blocks)
app.command()(inspect.sample)
app.command()(care.optimize)
app.command()(care.convert)
app.command()(care.verify)
app.command()(estimate.estimate)
app.command()(dv.dv)
app.command()(upgrade.upgrade)
app.command()(doctor.doctor)
app.add_typer(tiledb_app)


def main() -> None:
    """Runs the command line."""
    app()
