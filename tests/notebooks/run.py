"""Runs the notebooks of examples/ and keeps what they show: `make notebooks`.

What Spark's JVM says on its error stream is not kept: it differs from machine to machine.
"""

from __future__ import annotations

import nbformat
from nbclient import NotebookClient

from tests.notebooks import NOTEBOOKS


def main() -> None:
    for path in NOTEBOOKS:
        print(path.stem, flush=True)
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, timeout=600, record_timing=False).execute()
        notebook.metadata.language_info = {"name": "python"}
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
