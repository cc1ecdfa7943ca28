"""What an estimated answer is worth and cost, whoever has read the rows; and what one may be asked for."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pyqbeast.approximate.estimate.estimates import Estimates, Status, is_null
from pyqbeast.approximate.estimate.groups import Completeness
from pyqbeast.approximate.estimate.interval import MOST_CONFIDENCE
from pyqbeast.approximate.estimate.selection import Choice, Mask
from pyqbeast.approximate.estimate.state import MOST_BUCKETS, FloatArray, Group, State
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.format.weight import is_number
from pyqbeast.core.html import block_html, table_html, texts_html

#: What the columns of bounds are called after the estimate's own name.
LOW, HIGH = "_low", "_high"
#: The column that tells of each row whether it surely belongs to the answer, where a query keeps some of its groups.
SURE = "sure"
#: Their bounds are values of the column, and have its type.
EXTREMES = ("min", "max")
#: Of whole numbers and decimals doubles may not hold the exact answer of these.
ROUNDED = ("sum", *EXTREMES)
#: How far an exact value may be off, as a share of it, or of 1 where it is a correlation. Sums of doubles are not so
#: far off, in whatever order Spark adds them up.
EXACT_TO = 1e-9
#: Rows that a person is shown of an answer.
SHOWN_ROWS = 20
WORTH = {
    Status.EXACT: "exact",
    Status.BOUNDED: "bounded",
    Status.SAMPLE_ONLY: "sample only",
    Status.CERTAIN: "certain bounds",
    Status.FEW_KEYS: "too few keys for bounds",
    Status.HEAVY_TAIL: "rows not seen may exceed the bounds",
    Status.LEFT_TO_QUERY: "only the query in full tells it, which costs more than the budget",
}


class Reading(NamedTuple):
    """One step that was read.

    Attributes:
        start, stop: fractions of the table's rows, by ascending weight.
        bytes: of the files opened, those of joined tables included.
        groups: whether only the files were read that can hold rare groups, for which they end in the exact answer.
    """

    start: float
    stop: float
    bytes: int
    groups: bool = False


@dataclass(frozen=True, kw_only=True)
class Outcome(ABC):
    """What an answer from a part of the rows is worth. `str()` tells a person, and a notebook shows a table.

    Attributes:
        fraction: the share of the table's rows that was sampled; 1.0 for an exact answer.
        exact: whether all rows were read, so that low = value = high (up to the rounding of doubles). Where their sums
            do not tell the answer, and the budget is spent, it is not exact.
        bytes_read: bytes of all files that were opened, in all steps together.
        exact_bytes: bytes of the files that the exact query opens.
        steps: what each step read.
        confidence: with which each bound holds, each by itself and not all of them at once.
        worth: for each estimate what its bounds are worth in the worst group: "exact"; "bounded"; "sample only",
            where nothing outside the sample tells of rare large values; "certain bounds" of min and max, which
            hold always; or why there is no bound.
        groups: what may be missing from the list of groups; None for a query without groups.
        choice: how sure it is which groups belong to the answer; None for a query that keeps all of them.
    """

    fraction: float
    exact: bool
    bytes_read: int
    exact_bytes: int
    steps: tuple[Reading, ...]
    confidence: float
    worth: Mapping[str, str]
    groups: Completeness | None = None
    choice: Choice | None = None

    @abstractmethod
    def first_rows(self) -> tuple[list[str], list[tuple[object, ...]]]:
        """The names of the answer's columns, and its first `SHOWN_ROWS` rows."""

    def __str__(self) -> str:
        columns, rows = self.first_rows()
        return "\n".join([*("  ".join(map(str, row)) for row in (columns, *rows)), self.cost, *self.notes])

    def _repr_html_(self) -> str:
        return block_html(
            self.cost, table_html("The answer with its bounds", *self.first_rows()), texts_html(self.notes)
        )

    @property
    def notes(self) -> list[str]:
        """What a reader of the numbers has to know, a sentence each."""
        if self.exact:
            return ["The answer is exact."]
        out = [f"Each bound holds with {self.confidence:.4g} by itself, not all of them at once."]
        out += [f"{name}: {worth}." for name, worth in self.worth.items()]
        if self.groups is not None:
            out.append(_about_groups(self.groups, self.confidence))
        if self.choice is not None:
            out.append(_about_choice(self.choice, self.confidence))
        return out

    @property
    def cost(self) -> str:
        """What was read, in words."""
        return (
            f"Read {self.bytes_read:,} bytes in {len(self.steps)} step(s), fraction {self.fraction:.4g}; "
            f"the exact query opens {self.exact_bytes:,}."
        )


def _about_groups(groups: Completeness, confidence: float) -> str:
    """Whether groups may be missing, and how large they are at most."""
    if groups.complete:
        return "The list of groups is complete."
    most = f"{groups.most_keys:,.0f} different keys"
    if groups.most_rows is not None:
        most = f"{groups.most_rows:,.0f} rows"
    between = " and ".join(f"{name} from {low} to {high}" for name, (low, high) in groups.between.items())
    where = f", with {between}" if between else ""
    return (
        f"Groups may be missing{where}: with {confidence:.4g} none of more than {most}. All of them hold about "
        f"{groups.unseen_share:.2g} of the rows."
    )


def _about_choice(choice: Choice, confidence: float) -> str:
    """Which groups may be in the answer and should not, or the other way round."""
    doubts = [
        ("in the answer and may not belong to it", choice.doubtful),
        ("not in the answer and may belong to it", choice.left_out),
    ]
    out = [f"{len(groups):,} are {what}: {_named(groups)}" for what, groups in doubts if groups]
    out += ["groups that the sample missed may belong to it"] if choice.missing else []
    said = "; ".join(out) or "these are the groups of the exact answer"
    return f"Which groups belong to the answer, with {confidence:.4g}: {said}."


def _named(groups: Sequence[Group]) -> str:
    """The first few groups."""
    few = [", ".join(map(str, group)) for group in groups[:5]]
    return "; ".join([*few, "…"] if len(groups) > len(few) else few)


def check_confidence(confidence: float) -> None:
    """Raises InvalidInputError for a confidence out of range."""
    if not (is_number(confidence) and 0.5 <= confidence <= MOST_CONFIDENCE):
        raise InvalidInputError(f"confidence has to be from 0.5 to {MOST_CONFIDENCE}, not {confidence!r}")


def check_kept_groups(groups: Collection[str]) -> None:
    """Raises InvalidInputError where a group of an answer that keeps some of them is called as its own column is."""
    if SURE in groups:
        raise InvalidInputError(
            f"an answer that keeps some of its groups has another column {SURE!r}, which tells whether they surely "
            f"belong to it: give the group {SURE!r} another name, or ask for all groups"
        )


def check_names(others: Iterable[str], estimates: Iterable[str]) -> None:
    """Raises InvalidInputError where a value or a bound would have the name of another column of the answer.

    Args:
        others: the columns that are no estimates. Two of these may have one name, as in any query.
        estimates: the names of the estimates.
    """
    taken = set(others)
    for name in estimates:
        for column in (name, name + LOW, name + HIGH):
            if column in taken:
                raise InvalidInputError(
                    f"{name!r} is shown with its bounds {name + LOW!r} and {name + HIGH!r}, and the answer has another "
                    f"column {column!r}: give one of them another name"
                )
            taken.add(column)


def worth_of(estimates: Estimates) -> str:
    """What the bounds are worth in the worst group."""
    worst = int(np.max(estimates.status, initial=Status.EXACT))
    return WORTH[Status(worst)]


#: The first and the last moment that Python has, in microseconds since 1970, and how far a bound may be rounded there.
FIRST_MOMENT, LAST_MOMENT, PLACES_OF_MOMENTS = -62_135_596_800_000_000, 253_402_300_799_999_999, 64


def exact_below(scale: int) -> float:
    """The magnitude up to which doubles hold all numbers of so many decimal places: whole numbers, or decimals."""
    return 2.0**53 / 10.0 ** max(scale, 0)


def is_rounded(state: State, found: Estimates, share: float | FloatArray, limit: float = math.inf) -> bool:
    """Whether the sums do not give an exact value: it reaches the limit of `exact_below`, or its digits were lost.

    Args:
        state: what the estimate was made of.
        found: the estimate.
        share: of the rows, sampled; one number or one per group.
        limit: of `exact_below`; infinite for doubles.
    """
    if found.aggregate.kind == "sum" and math.isfinite(limit):
        # Whole numbers add up exactly below it. Of others each addition rounds by half of a double's last place.
        additions = 1.0 if limit >= exact_below(0) else 2 * (_rows(state, found) / share + MOST_BUCKETS)
        return bool((largest_sum(state, found, share) * additions >= limit).any())
    size = np.abs(found.value)
    # Next to the 1 that it may be, the digits of a correlation near 0 are as good as those of any other.
    scale = np.maximum(size, 1.0) if found.aggregate.kind == "corr" else size
    is_lost = (found.noise > EXACT_TO * scale) | np.isinf(found.noise)
    return bool((np.isfinite(limit) & (size >= limit) | is_lost).any())


def largest_sum(state: State, found: Estimates, share: float | FloatArray) -> FloatArray:
    """The most [group] that a sum of some of the numbers can be, of which the estimate is the sum of all.

    It is that sum where they have one sign, and else what they would add up to if each were the largest.
    """
    rows = _rows(state, found) / share
    low, high = np.moveaxis(state.span(found.aggregate.extremes)[:, 0], -1, 0)
    mixed = rows * np.maximum(-low, high)
    return np.asarray(np.where(rows > 0, np.where((low < 0) & (high > 0), mixed, np.abs(found.value)), 0.0))


def _rows(state: State, found: Estimates) -> FloatArray:
    """The rows [group] read that an estimate counts."""
    return np.asarray(state.sums[..., state.index(found.aggregate.moments)[0]].sum(axis=1))


def extremes_outward(found: Estimates, limit: float) -> Estimates:
    """Bounds of a least or largest value that are true of the numbers that doubles beyond a limit were rounded from."""
    if found.aggregate.kind not in EXTREMES or math.isinf(limit):
        return found
    low, high = (
        np.where(np.abs(bound) < limit, bound, np.nextafter(bound, end))
        for bound, end in ((found.low, -np.inf), (found.high, np.inf))
    )
    return replace(found, low=low, high=high)


def decimals_exact(found: Estimates, share: float | FloatArray, places: int | None) -> Estimates:
    """Exact values of decimals as the doubles next to these: sums of doubles lie beside them, and compare otherwise.

    Args:
        found: the estimates.
        share: of the rows, sampled; one number or one per group.
        places: of the decimals; None for other numbers.
    """
    if places is None:
        return found

    def rounded(values: FloatArray) -> FloatArray:
        is_decimal = (np.asarray(share) >= 1) & (np.abs(values) < exact_below(places))
        return np.where(is_decimal, np.round(np.where(is_decimal, values, 0.0), places), values)

    return replace(found, value=rounded(found.value), low=rounded(found.low), high=rounded(found.high))


def left_to_query(found: Estimates, beyond: Mask, inexact: Mask) -> Estimates:
    """Estimates of which the query, which tells them alone, cannot be run.

    Args:
        found: the estimates.
        beyond: [group], those whose type does not hold their value.
        inexact: [group], those whose value is rounded, though all rows are read.
    """
    unknown = beyond | inexact
    low, high = (np.where(unknown, np.nan, bound) for bound in (found.low, found.high))
    status = np.where(unknown, Status.LEFT_TO_QUERY, found.status).astype(np.int8)
    value = np.where(beyond, np.nan, found.value)
    return replace(found, value=value, low=low, high=high, status=status)


def in_calendar(micros: int) -> int:
    """A bound of times, in microseconds, that Python can read where the time that it stands for can be.

    Doubles are 32 microseconds apart at the year 10,000, so that the last moment before it becomes the first one in it.
    """
    for end, beyond in ((FIRST_MOMENT, FIRST_MOMENT - micros), (LAST_MOMENT, micros - LAST_MOMENT)):
        if 0 < beyond <= PLACES_OF_MOMENTS:
            return end
    return micros


def known_numbers(state: State, found: Estimates, values: FloatArray) -> list[float | None]:
    """Values or bounds [group] of estimates; None where there is no number, or a bound that is not known."""
    # An infinite bound of a finite value says nothing.
    gone = np.isinf(values) & (values != found.value) | (np.isnan(values) & ~np.isnan(found.value))
    gone |= is_null(state, found)
    return [None if missing else value for value, missing in zip(values.tolist(), gone.tolist(), strict=True)]
