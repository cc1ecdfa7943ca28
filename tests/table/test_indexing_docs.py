"""The code of the guide to indexing runs as it is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pyqbeast

GUIDE = Path(__file__).parents[2] / "docs" / "indexing.md"


def test_the_guide_runs(spark, monkeypatch, capsys, table_path):
    # A process has one JVM: the session of the tests stands for the one that the guide starts.
    monkeypatch.setattr(
        pyqbeast, "configure", lambda builder: type("Builder", (), {"getOrCreate": lambda _: spark})()
    )
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    exec("\n".join(blocks).replace("/tmp/trips", table_path), {})
    assert (
        "indexingColumns: price:linear,street:quantiles,driver:hashing,begun:linear"
        in capsys.readouterr().out
    )
