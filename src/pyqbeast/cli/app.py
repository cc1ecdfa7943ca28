"""`pyqbeast`: the commands put together."""

from __future__ import annotations

import typer

from pyqbeast.cli import (
    blocks,
    clean,
    convert,
    demo,
    doctor,
    dv,
    estimate,
    index,
    info,
    optimize,
    repair,
    sample,
    upgrade,
    verify,
)
from pyqbeast.cli.tiledb.app import app as tiledb_app

app = typer.Typer(
    help="Multi-dimensionally indexed Delta tables: index, look into and sample them.",
    no_args_is_help=True,
    add_completion=False,
)
app.command()(demo.demo)
app.command()(index.index)
app.command()(info.info)
app.command()(blocks.blocks)
app.command()(sample.sample)
app.command()(optimize.optimize)
app.command()(convert.convert)
app.command()(verify.verify)
app.command()(repair.repair)
app.command()(estimate.estimate)
app.command()(dv.dv)
app.command()(upgrade.upgrade)
app.command()(clean.clean)
app.command()(doctor.doctor)
app.add_typer(tiledb_app)
