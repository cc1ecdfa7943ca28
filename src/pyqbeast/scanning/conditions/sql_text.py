"""Conditions and orders as text, in a small part of SQL: comparisons of columns with constants, AND, OR and NOT.

They mean what they mean in Spark: NaN is larger than every number, and a condition on a null is not true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

import pyarrow as pa

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.stored_text import shown
from pyqbeast.scanning.conditions import comparisons
from pyqbeast.scanning.conditions.column_types import column_in
from pyqbeast.scanning.conditions.comparisons import (
    MIRRORED,
    RowAndFileCondition,
    SqlConstant,
    in_one_type,
    padded,
)

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|'(?P<text>(?:[^'\\]|'')*)'|`(?P<quoted>(?:[^`]|``)+)`|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign><=|>=|<>|!=|==|[<>=(),-]))"
)
_OPERATORS = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
#: Some ten thousand overflow the stack of Arrow's reader.
MOST_COMPARISONS = 1_000
_WORDS = {"AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "TRUE", "FALSE"}


class _Token(NamedTuple):
    kind: str
    text: str


class SortColumn(NamedTuple):
    """A column to sort by."""

    name: str
    ascending: bool

    @property
    def nulls_first(self) -> bool:
        """Nulls are smaller than all values, as in Spark."""
        return self.ascending


C = TypeVar("C")
#: How two conditions are joined.
Joint = Literal["and", "or"]


class Comparisons(Protocol[C]):
    """What conditions are made of. For conditions on rows that is the module `comparisons`."""

    def joined(self, joint: Joint, left: C, right: C) -> C:
        """Two conditions, both or at least one of which has to hold."""

    def compared(self, field: pa.Field, sign: str, constant: SqlConstant) -> C:
        """A column beside a constant: `=`, `!=`, `<`, `<=`, `>` or `>=`."""

    def null(self, field: pa.Field, *, negated: bool) -> C:
        """A column that is null, or is not where `negated`."""

    def among(
        self, field: pa.Field, constants: Sequence[SqlConstant], *, negated: bool
    ) -> tuple[C | None, Sequence[SqlConstant]]:
        """A column that is one of some constants, or none where `negated`; and those to compare one by one."""


def conditions_of_text(text: str, schema: pa.Schema) -> tuple[RowAndFileCondition, int]:
    """The condition for rows and the one for files, and how many comparisons they have; see `Predicate`.

    Raises InvalidInputError where the text is not understood, with the place.
    """
    parser = _Parser(text, schema, comparisons)
    return parser.whole(), parser.comparisons


def condition_of_text(text: str, schema: pa.Schema, parts: Comparisons[C]) -> C:
    """A condition on the columns of a schema, made of other parts. Raises as `conditions_of_text`."""
    return _Parser(text, schema, parts).whole()


def order_of_text(text: str, schema: pa.Schema) -> list[SortColumn]:
    """Columns to sort by: `mean DESC, day`. Raises as `conditions_of_text`."""
    return _Parser(text, schema, comparisons).order()


class _Parser(Generic[C]):
    """Reads from left to right. `negated` stands for a NOT further up, so that no NOT is left in the condition."""

    def __init__(self, text: str, schema: pa.Schema, parts: Comparisons[C]) -> None:
        self._text = text
        self._schema = schema
        self._parts = parts
        self._tokens = list(_tokens(text))
        self._next = 0
        self.comparisons = 0

    def whole(self) -> C:
        """The condition that the whole text is."""
        try:
            found = self._either(negated=False)
        except RecursionError:
            raise InvalidInputError(f"the condition {shown(self._text)} is nested too deeply") from None
        self._expect_end("AND, OR or the end")
        return found

    def order(self) -> list[SortColumn]:
        """The columns that the whole text sorts by."""
        keys: list[SortColumn] = []
        while not keys or self._takes("sign", ","):
            column = self._column()
            is_descending = self._takes("word", "DESC")
            if not is_descending:
                self._takes("word", "ASC")
            keys.append(SortColumn(column, not is_descending))
        self._expect_end("ASC, DESC, a comma or the end")
        return keys

    def _either(self, *, negated: bool) -> C:
        return self._joined("OR", self._all, negated=negated)

    def _all(self, *, negated: bool) -> C:
        return self._joined("AND", self._one, negated=negated)

    def _joined(self, word: str, part: Callable[..., C], *, negated: bool) -> C:
        parts = [part(negated=negated)]
        while self._takes("word", word):
            parts.append(part(negated=negated))
        return self._join(parts, is_or=(word == "OR") != negated)

    def _join(self, parts: Sequence[C], *, is_or: bool) -> C:
        return reduce(partial(self._parts.joined, "or" if is_or else "and"), parts)

    def _one(self, *, negated: bool) -> C:
        if self._takes("word", "NOT"):
            return self._one(negated=not negated)
        if self._takes("sign", "("):
            inner = self._either(negated=negated)
            self._expect("sign", ")")
            return inner
        if self._is_constant():
            constant = self._constant()
            operator = MIRRORED[self._operator()]
            return self._compared(self._column(), operator, constant, negated=negated)
        column = self._column()
        if self._takes("word", "IS"):
            is_null = not self._takes("word", "NOT")
            self._expect("word", "NULL")
            self._count()
            return self._parts.null(self._schema.field(column), negated=is_null == negated)
        negated ^= self._takes("word", "NOT")
        if self._takes("word", "BETWEEN"):
            # Spark pads no bounds of BETWEEN.
            low = self._compared_as_it_is(column, ">=", self._constant(), negated=negated)
            self._expect("word", "AND")
            high = self._compared_as_it_is(column, "<=", self._constant(), negated=negated)
            return self._join([low, high], is_or=negated)
        if self._takes("word", "IN"):
            return self._among(column, negated=negated)
        if pa.types.is_boolean(self._schema.field(column).type) and self._peek().text not in _OPERATORS:
            return self._compared(column, "=", SqlConstant("boolean", "TRUE"), negated=negated)
        operator = self._operator()
        return self._compared(column, operator, self._constant(), negated=negated)

    def _among(self, column: str, *, negated: bool) -> C:
        self._expect("sign", "(")
        constants = [self._constant()]
        while self._takes("sign", ","):
            constants.append(self._constant())
        self._expect("sign", ")")
        field = self._schema.field(column)
        found, others = self._parts.among(field, in_one_type(constants, field), negated=negated)
        parts = [self._compared(column, "=", constant, negated=negated) for constant in others]
        if found is not None:
            self._count()
            parts.append(found)
        return self._join(parts, is_or=not negated)

    def _compared(self, column: str, operator: str, constant: SqlConstant, *, negated: bool) -> C:
        constant = padded(constant, self._schema.field(column))
        return self._compared_as_it_is(column, operator, constant, negated=negated)

    def _compared_as_it_is(self, column: str, operator: str, constant: SqlConstant, *, negated: bool) -> C:
        self._count()
        sign = _NEGATED[operator] if negated else operator
        return self._parts.compared(self._schema.field(column), sign, constant)

    def _count(self) -> None:
        self.comparisons += 1
        if self.comparisons > MOST_COMPARISONS:
            raise InvalidInputError(
                f"the condition {shown(self._text)} has more than {MOST_COMPARISONS} comparisons: list values by "
                "IN (…), which counts as one"
            )

    def _is_constant(self) -> bool:
        token = self._peek()
        is_typed = token.kind == "word" and self._peek(1).kind == "text"
        return (
            token.kind in ("number", "text")
            or token.text == "-"
            or is_typed
            or (token.kind == "word" and token.text.upper() in ("TRUE", "FALSE"))
        )

    def _constant(self) -> SqlConstant:
        if not self._is_constant():
            raise self._error("a constant is expected")
        token = self._take()
        if token.text == "-" and token.kind == "sign":
            if self._peek().kind != "number":
                raise self._error("a number is expected")
            return SqlConstant("number", "-" + self._take().text)
        if token.kind in ("number", "text"):
            return SqlConstant(token.kind, token.text)
        word = token.text.upper()
        if word in ("TRUE", "FALSE"):
            return SqlConstant("boolean", word)
        if word not in ("DATE", "TIMESTAMP"):
            raise self._error(f"{word} before a text is not known, only DATE and TIMESTAMP")
        return SqlConstant(word.lower(), self._take().text)

    def _column(self) -> str:
        token = self._take()
        is_word = token.kind == "word" and token.text.upper() not in _WORDS
        if not is_word and token.kind != "quoted":
            raise self._error("a column is expected")
        return column_in(self._schema, token.text)

    def _operator(self) -> str:
        token = self._take()
        if token.kind != "sign" or token.text not in _OPERATORS:
            raise self._error("a comparison is expected")
        return _OPERATORS[token.text]

    def _peek(self, ahead: int = 0) -> _Token:
        at = self._next + ahead
        return self._tokens[at] if at < len(self._tokens) else _Token("end", "")

    def _take(self) -> _Token:
        token = self._peek()
        self._next += 1
        return token

    def _takes(self, kind: str, text: str) -> bool:
        token = self._peek()
        is_next = token.kind == kind and token.text.upper() == text
        self._next += is_next
        return is_next

    def _expect(self, kind: str, text: str) -> None:
        if not self._takes(kind, text):
            raise self._error(f"{text} is expected")

    def _expect_end(self, what: str) -> None:
        """Raises InvalidInputError if something is left in the place of what may follow."""
        if self._next < len(self._tokens):
            raise self._error(f"{what} is expected")

    def _error(self, what: str) -> InvalidInputError:
        before = " ".join(token.text for token in self._tokens[: self._next])
        return InvalidInputError(
            f"the condition {shown(self._text)} is not understood: {what}, at {before!r}"
        )


def _tokens(text: str) -> list[_Token]:
    tokens, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise InvalidInputError(
                f"the condition {shown(text)} is not understood at {shown(text[at:].strip())}; it may compare columns "
                "with numbers, texts in single quotes without a backslash, DATE '…' and TIMESTAMP '…'"
            )
        kind = str(match.lastgroup)
        # A quote is doubled inside quotes.
        quote = {"text": "'", "quoted": "`"}.get(kind, "")
        tokens.append(_Token(kind, match[kind].replace(2 * quote, quote) if quote else match[kind]))
        at = match.end()
    return tokens
