"""Draws docs/session.svg, a session of the command line as it was: `python -m benchmarks.session`. Takes a minute."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

PICTURE = Path("docs/session.svg").resolve()
COLUMNS = 98
COMMANDS = (
    "pyqbeast demo --path flights",
    'pyqbeast estimate flights "avg(dep_delay) AS mean" --error 0.05',
)
#: Fonts that the library would have a reader load from the network.
FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def output_of(command: str, folder: str) -> str:
    """What a command of pyqbeast prints, as people see it who have nothing but a terminal."""
    _, *arguments = shlex.split(command)
    program = [str(Path(sys.executable).with_name("pyqbeast")), *arguments]
    environment = os.environ | {"COLUMNS": str(COLUMNS)}
    done = subprocess.run(program, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def main() -> None:
    """Runs the commands and writes the picture."""
    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere)
        for command in COMMANDS:
            console.print(Text("$ ", "bold green") + Text(command, "bold"), soft_wrap=True)
            console.print(Text(output_of(command, folder)), soft_wrap=True)
        drawn = console.export_svg(title="pyqbeast", theme=SVG_EXPORT_THEME)
    PICTURE.write_text(FONTS.sub("", drawn) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
