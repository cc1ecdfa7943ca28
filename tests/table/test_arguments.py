"""Arguments of what runs on Spark: what is taken for a path, and mistakes that are told before Spark is asked."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import pyqbeast
from pyqbeast import InvalidInputError, QbeastTable, bridge

#: A session in which the only table lies at `/t`.
SESSION = SimpleNamespace(
    catalog=SimpleNamespace(tableExists=lambda name: False),
    conf=SimpleNamespace(get=lambda _, default=None: default),
)


@pytest.fixture
def asked(monkeypatch):
    """The paths whose log is asked for."""
    paths = []

    def log(_, path):
        paths.append(path)
        return SimpleNamespace(exists=False)

    monkeypatch.setattr(bridge, "TableLog", log)
    return paths


def test_tables_are_named_by_paths_of_pathlib_too(asked):
    for open_it in (QbeastTable.for_path, pyqbeast.upgrade):
        with pytest.raises(pyqbeast.TableNotFoundError):
            open_it(SESSION, Path("/t"))
    assert asked == ["/t", "/t"]
    with pytest.raises(InvalidInputError, match=r"did you mean 'parquet\.`/t`'"):
        pyqbeast.convert(SESSION, Path("/t"), columns_to_index=["a"])


@pytest.mark.parametrize("nothing", [None, "", 5])
def test_what_is_no_path_is_told(asked, nothing):
    for call in (
        lambda: QbeastTable.for_path(SESSION, nothing),
        lambda: pyqbeast.upgrade(SESSION, nothing),
        lambda: pyqbeast.convert(SESSION, nothing, columns_to_index=["a"]),
    ):
        with pytest.raises(InvalidInputError, match="neither a path nor a URL"):
            call()
    assert not asked
