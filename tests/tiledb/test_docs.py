"""The code in the guide runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "tiledb.md"


def _blocks():
    return re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_guide_runs(folder, spark):
    names = {"spark": spark}
    for block in _blocks():
        # Relative paths mean one thing to the driver and another to a JVM that was started elsewhere.
        exec(compile(re.sub(r'"(weather|warm)"', rf'"{folder}/\1"', block), str(GUIDE), "exec"), names)
    assert names["warm"].count() > 0
