"""What the comparison of two operations at once can see."""

from __future__ import annotations

import pytest

from tests.protocol.matrix import NOW, OPERATIONS, WORDS, differences, unexpected
from tests.protocol.world import OUTCOMES

#: What changes nothing that readers of a table see.
_MOVES_ONLY = {"optimize", "convert", "upgrade"}
#: What does the same whoever does it.
_ALIKE = _MOVES_ONLY | {"delete", "restore"}


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - _MOVES_ONLY))
def test_a_change_that_is_lost_is_seen(name):
    assert list(differences(NOW, OPERATIONS[name].effect(NOW, "B")))


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - _ALIKE))
def test_a_change_tells_whose_it_is(name):
    assert OPERATIONS[name].effect(NOW, "A") != OPERATIONS[name].effect(NOW, "B")


@pytest.mark.parametrize("name", sorted(_MOVES_ONLY))
def test_moves_keep_what_the_other_writer_has_changed(name):
    for other in set(OPERATIONS) - _MOVES_ONLY:
        changed = OPERATIONS[other].effect(NOW, "B")
        assert OPERATIONS[name].effect(changed, "A") == changed != NOW


def test_a_failure_is_no_word_of_the_page():
    assert not list(unexpected("done", "conflict"))
    assert set(OUTCOMES) - set(WORDS) == {"failed", "uncertain"}
    for word in ("failed", "uncertain"):
        assert list(unexpected("done", word)) == [f"the one under way was told {word}"]
        assert list(unexpected(word, "done")) == [f"the other was told {word}"]
