"""The notebooks of examples/."""

from pathlib import Path

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent.parent / "examples").glob("*.ipynb"))
