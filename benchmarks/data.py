"""The rows that tables are made of: four columns to index by, spread in a known way, and six others."""

from __future__ import annotations

from dataclasses import dataclass

#: What else a row holds.
PAYLOAD = (
    "xxhash64(id, 1L) as key",
    "xxhash64(id, 2L) as other",
    "pmod(xxhash64(id, 3L), 1000L) as small",
    "cast(rand({seed} + 90) * 100 as float) as value",
    "concat('user_', pmod(xxhash64(id, 9L), 100000L)) as name",
)
#: The four columns: a double, a long, a timestamp and an int.
INDEXED = ("a", "b", "c", "d")


def _moment(share: str) -> str:
    return f"timestamp_micros(cast((1.6e9 + ({share}) * 1e8) * 1e6 as bigint)) as c"


@dataclass(frozen=True)
class Data:
    """A kind of data: SQL expressions over `id`, with `{seed}` and `{rows}` for those numbers."""

    name: str
    columns: tuple[str, ...]

    def expressions(self, seed: int, rows: int) -> list[str]:
        """The columns of a row of a table of so many rows, as `DataFrame.selectExpr` takes them."""
        return ["id", *(column.format(seed=seed, rows=rows) for column in (*self.columns, *PAYLOAD))]


UNIFORM = Data(
    "uniform",
    (
        "rand({seed}) * 1e6 as a",
        "pmod(xxhash64(id, 7L), 1000000L) as b",
        _moment("rand({seed} + 1)"),
        "cast(rand({seed} + 2) * 1e5 as int) as d",
    ),
)
#: Log-normal, a power law with repeated values, recent moments, and small numbers.
SKEWED = Data(
    "skewed",
    (
        "exp(randn({seed}) * 1.5) * 100 as a",
        "cast(pow(rand({seed} + 1) + 1e-6, -1.2) * 10 as bigint) as b",
        _moment("exp(-3 * rand({seed} + 2))"),
        "cast(pow(rand({seed} + 3), 4) * 1e5 as int) as d",
    ),
)
#: All four follow the same number, within some percent.
CORRELATED = Data(
    "correlated",
    (
        "id / {rows} * 1e6 + randn({seed}) * 2e4 as a",
        "cast(id / {rows} * 1e6 + randn({seed} + 1) * 5e4 as bigint) as b",
        _moment("(id / {rows} + randn({seed} + 2) * 0.02)"),
        "cast((1 - id / {rows} + randn({seed} + 3) * 0.1) * 1e5 as int) as d",
    ),
)


def _spot(column: int, width: float) -> str:
    centre = f"pmod(xxhash64(pmod(xxhash64(id, 11L), 40L), {20 + column}L), 1000L) / 1000"
    return f"({centre} + randn({{seed}} + {column}) * {width})"


#: Forty spots of one size.
CLUSTERED = Data(
    "clustered",
    (
        f"{_spot(1, 0.01)} * 1e6 as a",
        f"cast({_spot(2, 0.01)} * 1e6 as bigint) as b",
        _moment(_spot(3, 0.01)),
        f"cast({_spot(4, 0.02)} * 1e5 as int) as d",
    ),
)
KINDS = (UNIFORM, SKEWED, CORRELATED, CLUSTERED)
