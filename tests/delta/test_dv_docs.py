"""The code blocks of the guide run, in order."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "deletion_vectors.md"


def test_the_guide_runs(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    exec("\n".join(blocks), {"spark": spark})
    printed = re.sub(r"[0-9a-f-]{36}", "…", capsys.readouterr().out).splitlines()
    promised = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("# ")]
    assert printed == [re.sub(r"[0-9a-f-]{36}", "…", line) for line in promised]
