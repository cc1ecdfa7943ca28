"""`pyqbeast doctor`: whether this machine can run pyqbeast, and with what."""

from __future__ import annotations

import platform

import pyspark

import pyqbeast
from pyqbeast.cli import common
from pyqbeast.delta.session import DELTA_VERSION, bridge_jar, java_version


def doctor(output: common.OutputOption = common.Output.text, debug: common.DebugOption = False) -> None:
    """Start a session and tell the versions in it."""
    with common.errors_as_one_line(debug=debug):
        spark = common.local_session()
        found = {
            "pyqbeast": pyqbeast.__version__,
            "python": platform.python_version(),
            "spark": pyspark.__version__,
            "delta": DELTA_VERSION,
            "java": java_version(spark),
            "jar": str(bridge_jar()),
            "rows": spark.range(1000).count(),
        }
        if output is common.Output.json:
            common.print_json(found)
        else:
            for name, value in found.items():
                common.console.print(f"{name:>9}  {value}", highlight=False)
            common.console.print("a session starts and answers: all is well")
