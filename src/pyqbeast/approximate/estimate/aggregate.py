"""What is asked for: an aggregate, and the sums that it needs of every step."""

from __future__ import annotations

from dataclasses import dataclass

from pyqbeast.approximate.estimate import percentile
from pyqbeast.approximate.estimate.formulas import COUNTS, FORMULAS
from pyqbeast.approximate.estimate.state import Moment
from pyqbeast.core.errors import InvalidInputError

#: How many columns some kinds take, and what is said of it.
_COLUMNS = {"count": ((0, 1), "a column or none"), "corr": ((2,), "two columns")}


@dataclass(frozen=True)
class Aggregate:
    """A requested aggregate.

    Attributes:
        kind: a name of `FORMULAS`, or `min`, `max`, `percentile`.
        columns: names of the columns or expressions: none for count(*), two for `corr`, one or more for
            `count_distinct`, else one.
        p: the percentile, between 0 and 1.
        one_per_key: of `count_distinct`, whether a key has one of the values at the most.
    """

    kind: str
    columns: tuple[str, ...] = ()
    p: float | None = None
    one_per_key: bool = False

    def __post_init__(self) -> None:
        wanted, told = _COLUMNS.get(self.kind, ((1,), "one column"))
        if len(self.columns) not in wanted and not (self.kind == "count_distinct" and self.columns):
            raise InvalidInputError(f"{self.kind} takes {told}, not {len(self.columns)}")
        if self.kind != "percentile" and self.p is not None:
            raise InvalidInputError(f"{self.kind} takes no share, as a percentile does")
        if self.kind == "percentile" and (self.p is None or not 0 <= self.p <= 1):
            raise InvalidInputError(f"a percentile takes a share from 0 to 1, not {self.p}")

    @property
    def moments(self) -> tuple[Moment, ...]:
        """The sums it needs; the first counts the rows that take part."""
        if self.kind == "count_distinct":
            return (Moment(self.columns, (0,) * len(self.columns), distinct=True),)
        if self.kind in FORMULAS:
            powers = FORMULAS[self.kind].powers if self.columns else ((),)
            return tuple(Moment(self.columns, each) for each in powers)
        below = (
            (Moment(self.columns, (0,), (self.p, j)) for j in range(percentile.THRESHOLDS))
            if self.p is not None
            else ()
        )
        return (Moment(self.columns, (0,)), *below)

    @property
    def parts(self) -> tuple[Aggregate, ...]:
        """Itself: an aggregate has one part, a combination several."""
        return (self,)

    @property
    def min_keys(self) -> float:
        """How many distinct keys its bounds need."""
        if self.p is not None:
            return percentile.min_keys(self.p)
        return FORMULAS[self.kind].min_keys if self.kind in FORMULAS else 0

    @property
    def extremes(self) -> tuple[str, ...]:
        """The columns whose smallest and largest value it needs."""
        return () if self.kind in (*COUNTS, "percentile") else self.columns
