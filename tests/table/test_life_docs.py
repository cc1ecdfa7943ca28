"""The code of docs/life.md runs as it is printed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from pyqbeast.table import hooks

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "life.md"


def test_the_guides_code(spark, capsys, monkeypatch):
    monkeypatch.setattr(hooks, "_of_tables", {})
    shutil.rmtree("/tmp/life", ignore_errors=True)
    names: dict[str, object] = {"spark": spark}
    try:
        for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL):
            exec(block, names)
    finally:
        shutil.rmtree("/tmp/life", ignore_errors=True)
    assert "nothing to optimize" in capsys.readouterr().out
