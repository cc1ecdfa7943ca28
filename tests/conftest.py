"""What every test may ask for: the golden data, and one Spark session for the whole run."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
#: Golden data is looked for in this order: the small part that the repository carries, then all of it.
GOLDEN_ROOTS = (HERE / "golden", HERE.parent.parent / "shared" / "golden")


@pytest.fixture(scope="session")
def golden():
    """A function from a relative name (`qbeast/a_linear2d`) to the folder that holds it; skips where absent."""

    def find(name: str) -> Path:
        for root in GOLDEN_ROOTS:
            if (root / name).exists():
                return root / name
        pytest.skip(f"golden data {name!r} is not part of this clone (it is large; the maintainers keep it)")

    return find
