"""The lines of a text: the same as Python's, wherever they end and however many are looked at in one go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.delta_log import json_in_bulk
from pyqbeast.delta_log.json_in_bulk import Lines

TEXTS = st.lists(st.sampled_from([b"{}", b"{", b"}", b"a", b"{a}", b"\n", b"\r\n", b"\x0b", b"\xff"])).map(
    b"".join
)


def told(lines):
    return [lines.line(at) for at in range(lines.count)]


@given(TEXTS, st.integers(1, 9))
def test_lines_are_those_of_python(text, at_once):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_in_bulk, "_LOOKED_THROUGH", at_once)
        found = Lines.of(text)
    truth = text.splitlines()
    assert told(found) == truth
    assert found.begin_with(b"{a").tolist() == [line.startswith(b"{a") for line in truth]
    assert found.are_braced() == all(line.startswith(b"{") and line.endswith(b"}") for line in truth)
    for first in range(found.count):
        for behind in range(first + 1, found.count + 1):
            part = found.part(first, behind)
            assert told(part) == truth[first:behind]
            assert part.begin_with(b"{a").tolist() == [line.startswith(b"{a") for line in truth[first:behind]]
