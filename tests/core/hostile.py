"""Hypothesis strategies for texts that mean harm: good ones with parts replaced, cut, doubled and nested.

A good text is taken apart, some of its parts are replaced by what a reader may not expect, and the text that comes of
it is damaged as a text too. Parts that no `json.dumps` would write, such as 10^400 or NaN, are kept as raw text.
"""

from __future__ import annotations

import json

from hypothesis import Phase, given, settings
from hypothesis import strategies as st


class Raw(str):
    """A piece of text that stands in the JSON as it is."""


def nested(depth, opening="[", closing="]"):
    return Raw(opening * depth + closing * depth)


#: What may stand where a reader expects something else.
ODD = [
    None,
    True,
    False,
    0,
    -1,
    7,
    2**31,
    -(2**31) - 1,
    2**63,
    10**18,
    1.5,
    -0.0,
    1e308,
    -1e308,
    5e-324,
    "",
    "true",
    "5",
    " 5",
    "A",
    "null",
    "\ud800",
    "\u0000",
    "٥",
    "+5",
    "1_0",
    "x" * 3_000,
    [],
    {},
    [[]],
    [{}],
    [None],
    ["a", 1],
    {"className": []},
    Raw("1" + "0" * 400),
    Raw("-1" + "0" * 400),
    Raw("1" + "0" * 5_000),
    Raw("1e400"),
    Raw("-1e999999999"),
    Raw("1e-999999999"),
    Raw("NaN"),
    Raw("-Infinity"),
    Raw("01"),
    Raw("5.0"),
    Raw("1e3"),
    Raw("'a'"),
    nested(90),
    nested(150),
    nested(3_000),
    nested(100_000),
    nested(3_000, '{"a":[', "]}"),
]
TOKENS = [
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    '"',
    "\\",
    "'",
    "0",
    "-",
    "e",
    " ",
    "\n",
    "\x00",
    "\ufeff",
    "é",
    "/*",
    "null",
]


def written(value):
    """The JSON text of a value that may hold raw pieces. Lists of pairs in a tuple are objects with repeated keys."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return "{" + ",".join(f"{json.dumps(key)}:{written(item)}" for key, item in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return json.dumps(value)


@st.composite
def _changed(draw, value):
    """The value with one part of it, or itself, changed."""
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        key = draw(st.sampled_from(sorted(value)))
        change = draw(st.sampled_from(["inner", "inner", "inner", "drop", "rename", "twice"]))
        if change == "inner":
            return {**value, key: draw(_changed(value[key]))}
        left = {other: item for other, item in value.items() if other != key}
        if change == "drop":
            return left
        if change == "rename":
            return {**left, draw(st.sampled_from(["", "className", "A", key.upper()])): value[key]}
        return ((key, draw(st.sampled_from(ODD))), *value.items(), (key, draw(_changed(value[key]))))
    if isinstance(value, list) and value and draw(st.integers(0, 5)):
        place = draw(st.integers(0, len(value) - 1))
        change = draw(st.sampled_from(["inner", "inner", "inner", "drop", "twice", "append"]))
        if change == "inner":
            return [*value[:place], draw(_changed(value[place])), *value[place + 1 :]]
        if change == "drop":
            return value[:place] + value[place + 1 :]
        return [*value, value[place] if change == "twice" else draw(st.sampled_from(ODD))]
    if isinstance(value, str) and not isinstance(value, Raw) and draw(st.booleans()):
        return draw(st.text(max_size=5)) + value
    return draw(st.sampled_from(ODD))


@st.composite
def damaged(draw, text):
    """The text with pieces of it cut out, repeated or put in, at up to three places."""
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        piece = draw(st.sampled_from(["", text[start:end] * 2, draw(st.sampled_from(TOKENS))]))
        text = text[:start] + piece + text[end:]
    return text


@st.composite
def hostile_texts(draw, good):
    """Texts made from one of the good JSON texts."""
    value = json.loads(draw(st.sampled_from(good)))
    for _ in range(draw(st.integers(0, 3))):
        value = draw(_changed(value)) if isinstance(value, (dict, list)) else value
    text = written(value)
    return draw(damaged(text)) if draw(st.booleans()) else text


def drawn(strategy, count):
    """A list of examples, the same in every run: for a test that hands them all over at once."""
    found = []

    @given(strategy)
    @settings(max_examples=count, phases=[Phase.generate], derandomize=True, database=None)
    def collect(example):
        found.append(example)

    collect()
    return found
