"""The code of the guide to upgrades runs as it is printed, on a copy of an old table."""

from __future__ import annotations

import re
from pathlib import Path

from tests.table.legacy import REPLICATED, copy_of

GUIDE = Path(__file__).resolve().parent.parent.parent / "docs" / "upgrade.md"


def test_the_guides_python(spark, golden, table_path):
    names = {"spark": spark, "path": copy_of(golden, REPLICATED, table_path)}
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        exec(block, names)
