"""Names of columns: which column a name means, and which one it was meant to be."""

from __future__ import annotations

import pytest

from pyqbeast.core.format.names import column_named, did_you_mean

COLUMNS = ["day", "Delay", "origin"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("dya", "day"), ("dealy", "Delay"), ("DELAYS", "Delay"), ("orign", "origin"), ("x", None)],
)
def test_the_name_that_was_meant(name, meant):
    assert did_you_mean(name, COLUMNS) == (f"; did you mean {meant!r}?" if meant else "")


def test_a_column_may_be_named_in_another_case():
    assert column_named("delay", COLUMNS) == "Delay"
    assert column_named("delay", COLUMNS, case_sensitive=True) is None
