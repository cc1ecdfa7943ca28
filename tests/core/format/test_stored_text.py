"""The door for stored texts: what JSON is taken, what a whole number is, and how messages quote."""

from __future__ import annotations

import json

import pytest

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.stored_text import may_hold_long_number, read_json, shown, whole_number


@pytest.mark.parametrize(
    "text", [' {"a": [1, -0, 2.5e3, "\\u00e9", null, true]}\n', b'"\xc3\xa9"', "[]", "7"]
)
def test_json_is_read(text):
    assert read_json(text, "it") == json.loads(text)


NO_JSON = [
    "",
    " ",
    "{",
    "[1] 2",
    '{"a": 1, "a": 1}',
    "[1,]",
    "{'a': 1}",
    "NaN",
    "[-Infinity]",
    "1e400",
    "01",
    "+1",
]


@pytest.mark.parametrize("text", [*NO_JSON, "\ufeff1", '"\n"', b"\xff"])
def test_everything_else_is_refused(text):
    with pytest.raises(FormatError, match=r"^it: not JSON"):
        read_json(text, "it")


def test_infinities_are_read_where_they_may_stand():
    text = '{"a": [Infinity, NaN, -Infinity], "b": 1.5}'
    assert repr(read_json(text, "it", finite=False)) == repr(json.loads(text))
    for other in ('{"a": NaN, "a": NaN}', "[" * 101 + "NaN" + "]" * 101, f"[NaN, {'1' * 1_001}]", "1e400"):
        with pytest.raises(FormatError, match=r"^it: "):
            read_json(other, "it", finite=False)


def test_nesting_and_long_numbers_are_bounded():
    for opening, closing in ("[]", ('{"a":', "}")):
        read_json(f"{opening * 100}{'' if opening == '[' else '7'}{closing * 100}", "it")
    for depth in (101, 900, 100_000):
        with pytest.raises(FormatError, match=r"^it: (lists more than 100 deep|not JSON)"):
            read_json("[" * depth + "]" * depth, "it")
    assert read_json("[[[]]," + "7," * 99 + "7]", "it")[-1] == 7
    read_json("-" + "1" * 300 + "e-" + "0" * 700, "it")
    for digits in ("1" * 1_001, "0." + "1" * 1_000):
        with pytest.raises(FormatError, match="more than 1000 digits"):
            read_json(digits, "it")


def test_a_long_number_is_found_wherever_it_stands():
    for before in range(205):
        for after in ("", ",", "x" * 99, "x" * 1_000):
            assert may_hold_long_number("x" * before + "7" * 1_001 + after)
            assert not may_hold_long_number("x" * before + "7" * 1_000 + after)


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("-7", -7), ("007", 7), (str(2**63 - 1), 2**63 - 1)])
def test_whole_numbers(text, number):
    assert whole_number(text, "it") == number


@pytest.mark.parametrize(
    "text", ["", " 1", "1\n", "+1", "1_0", "١", "1.0", "1e3", str(2**63), "0" * 20, "-", None, 7, []]
)
def test_what_is_no_whole_number(text):
    with pytest.raises(FormatError, match=r"^it has to be a whole number"):
        whole_number(text, "it")


def test_a_long_value_is_quoted_by_its_beginning():
    assert shown("a'b") == '"a\'b"'
    for long in ("x" * 10**6, b"x" * 10**6, ["x" * 1_000], {"x": 10**900}):
        assert len(shown(long)) < 250
