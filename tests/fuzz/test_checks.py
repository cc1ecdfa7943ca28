"""The fuzzer's own judgement of change feeds: what it lets pass, and what it does not."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fuzz.checks import net_changes

#: RESTORE brings row 1 back and takes row 2 away. Row 3 stays, and lies in another file.
PLAIN = [(7, "insert", 1), (7, "delete", 2)]
MOVED = [*PLAIN, (7, "insert", 3), (7, "delete", 3)]


def test_rows_that_a_version_puts_elsewhere_are_no_changes():
    assert net_changes(MOVED) == net_changes(PLAIN) == Counter({("insert", 1): 1, ("delete", 2): 1})


@pytest.mark.parametrize(
    "wrong",
    [
        PLAIN[1:],
        PLAIN[:1],
        [*PLAIN, PLAIN[0]],
        [*MOVED, (7, "insert", 3)],
        [*MOVED, (7, "delete", 3)],
        [(7, "delete", 1), (7, "insert", 2)],
        # What a version takes away has not come back if another one brings it.
        [*PLAIN, (7, "delete", 3), (8, "insert", 3)],
        [*PLAIN, (7, "update_preimage", 3), (7, "update_postimage", 3)],
    ],
)
def test_every_other_difference_is_told(wrong):
    assert net_changes(wrong) != net_changes(PLAIN)
