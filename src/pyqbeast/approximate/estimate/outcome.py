"""What an estimated answer is worth and cost, whoever has read the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pyqbeast.approximate.estimate.choice import Choice
from pyqbeast.approximate.estimate.estimates import Estimates, Status
from pyqbeast.approximate.estimate.groups import Completeness
from pyqbeast.approximate.estimate.state import Group, Mask
from pyqbeast.core.errors import InvalidInputError, QbeastError, UnsupportedError
from pyqbeast.core.html import block_html, table_html, texts_html

#: What the columns of bounds are called after the estimate's own name.
LOW, HIGH = "_low", "_high"
#: The column that tells of each row whether it surely belongs to the answer, where a query keeps some of its groups.
SURE = "sure"
#: Rows that a person is shown of an answer.
SHOWN_ROWS = 20
WORTH = {
    Status.EXACT: "exact",
    Status.BOUNDED: "bounded",
    Status.SAMPLE_ONLY: "sample only",
    Status.CERTAIN: "certain bounds",
    Status.FEW_KEYS: "too few keys for bounds",
    Status.HEAVY_TAIL: "rows not seen may exceed any bounds",
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
        bytes_read: bytes of all files that were opened, in all steps together. Spark does not tell what a recursion
            (`WITH RECURSIVE`) opens: that is not counted.
        exact_bytes: bytes of the files that the exact query opens.
        steps: what each step read.
        confidence: with which each bound holds, each by itself and not all of them at once. Where a query keeps some of
            its groups, this share of the bounds in the answer holds on the average, though they are chosen.
        worth: for each estimate what its bounds are worth in the worst group shown: "exact"; "bounded"; "sample only",
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
    worth: Mapping[str, str] = field(hash=False)
    groups: Completeness | None = None
    choice: Choice | None = None

    @abstractmethod
    def shown_rows(self, most: int | None = SHOWN_ROWS) -> tuple[list[str], list[tuple[object, ...]]]:
        """The names of the answer's columns, and its first rows or all of them.

        Days and times are texts: Python knows fewer of them than Arrow and Spark.
        """

    def __str__(self) -> str:
        columns, rows = self.shown_rows()
        return "\n".join([*("  ".join(map(str, row)) for row in (columns, *rows)), self.cost, *self.notes])

    def _repr_html_(self) -> str:
        return block_html(
            self.cost, table_html("The answer with its bounds", *self.shown_rows()), texts_html(self.notes)
        )

    @property
    def notes(self) -> list[str]:
        """What a reader of the numbers has to know, a sentence each."""
        if self.exact:
            return ["The answer is exact."]
        out = [f"Each bound holds with {self.confidence:.4g} by itself, not all of them at once."]
        if self.choice is not None:
            share = f"{self.confidence:.4g} of the bounds shown hold on the average"
            out = [f"Though groups are chosen by their estimates, {share}, not all of them at once."]
        out += [f"{name}: {worth}." for name, worth in self.worth.items()]
        if self.groups is not None:
            out.append(_about_groups(self.groups, self.confidence))
        if self.choice is not None:
            out.append(_about_choice(self.choice))
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


def _about_choice(choice: Choice) -> str:
    """Which groups may be in the answer and should not, or the other way round."""
    doubts = [
        ("in the answer and may not belong to it", choice.doubtful),
        ("not in the answer and may belong to it", choice.left_out),
    ]
    out = [f"{len(groups):,} are {what}: {_named(groups)}" for what, groups in doubts if groups]
    out += ["groups that the sample missed may belong to it"] if choice.missing else []
    said = "; ".join(out) or "these are the groups of the exact answer"
    with_what = f"with {choice.confidence:.4g}"
    if choice.confidence == 0:
        with_what = "with no confidence for so many of them together"
    return f"Which groups belong to the answer, {with_what}: {said}."


def _named(groups: Sequence[Group]) -> str:
    """The first few groups."""
    few = [", ".join(map(str, group)) for group in groups[:5]]
    return "; ".join([*few, "…"] if len(groups) > len(few) else few)


class SharedRefusalError(QbeastError):
    """What is asked for is refused whoever reads the rows, a scan or Spark."""


class NamesCollideError(SharedRefusalError, InvalidInputError):
    """Two columns of an answer would have one name."""


class SmallBudgetError(SharedRefusalError, InvalidInputError):
    """The budget is less than what the smallest sample takes."""


class NoSampleError(SharedRefusalError, UnsupportedError):
    """No weight stands for a share of the table's rows."""


def check_names(
    groups: Iterable[str], estimates: Iterable[str], *, keeps_some: bool, case_sensitive: bool = True
) -> None:
    """Raises NamesCollideError where a value or a bound would have the name of another column of the answer.

    Args:
        groups: the columns that are no estimates. Two of these may have one name, as in any query.
        estimates: the names of the estimates.
        keeps_some: whether the answer keeps some of its groups, and so has the column `SURE`.
        case_sensitive: whether names that differ in case only are different ones to whoever reads the answer.
    """

    def key(name: str) -> str:
        return name if case_sensitive else name.lower()

    taken = {key(name): name for name in groups}
    if keeps_some:
        if SURE in taken:
            raise NamesCollideError(
                f"an answer that keeps some of its groups has another column {SURE!r}, which tells whether they "
                f"surely belong to it: give the group {taken[SURE]!r} another name, or ask for all groups"
            )
        taken[SURE] = SURE
    for name in estimates:
        for column in (name, name + LOW, name + HIGH):
            if key(column) in taken:
                raise NamesCollideError(
                    f"{name!r} is shown with its bounds {name + LOW!r} and {name + HIGH!r}, and the answer has another "
                    f"column {taken[key(column)]!r}: give one of them another name"
                )
            taken[key(column)] = column


def worth_of(estimates: Estimates, shown: Mask) -> str:
    """What the bounds are worth in the worst group [group] that an answer shows; of all groups where it shows none."""
    worst = int(np.max(estimates.status[shown] if shown.any() else estimates.status, initial=Status.EXACT))
    return WORTH[Status(worst)]
