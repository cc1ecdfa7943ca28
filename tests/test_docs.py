"""The code of the README runs as it is printed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import pyqbeast

README = Path(__file__).resolve().parent.parent / "README.md"


def test_the_readmes_python(spark, monkeypatch, capsys):
    shutil.rmtree("/tmp/flights", ignore_errors=True)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(blocks) >= 3
    # A process has one JVM: the session of the tests stands for the one that the example starts.
    monkeypatch.setattr(
        pyqbeast, "configure", lambda builder: type("Builder", (), {"getOrCreate": lambda _: spark})()
    )
    names: dict[str, object] = {}
    try:
        for block in blocks:
            exec(block, names)
    finally:
        shutil.rmtree("/tmp/flights", ignore_errors=True)
    printed = capsys.readouterr().out
    assert "OTree Index Metrics" in printed
    assert "no problems" in printed


def test_the_guide_to_tolerance(spark, table_path):
    guide = (README.parent / "docs" / "tolerance.md").read_text()
    names: dict[str, object] = {"spark": spark, "path": table_path}
    for block in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        exec(block, names)


@pytest.mark.parametrize("command", ["demo", "test"])
def test_the_readmes_commands_are_in_the_makefile(command):
    assert f"make {command}" in README.read_text()
    assert re.search(rf"^{command}:", (README.parent / "Makefile").read_text(), re.MULTILINE)
