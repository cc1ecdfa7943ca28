"""Files that conditions leave out: never one with a row that meets them, and each that bounds of columns tell."""

from __future__ import annotations

import datetime as dt
import json
import operator
import re
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyqbeast.approximate.estimate import GroupKind, value_span
from pyqbeast.core.errors import InvalidInputError
from pyqbeast.delta_log.live_file import LiveFile
from pyqbeast.scanning.conditions.comparisons import MIRRORED
from pyqbeast.scanning.conditions.file_bounds import BoundsOfFiles
from pyqbeast.scanning.conditions.predicate import Predicate

DAY, TIME = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
NUMBERS = st.integers(-3, 3)
#: A column of each type: its values of a number, and constants in conditions.
COLUMNS = {
    "n": (pa.int32(), int, ["-4", "-1", "0", "2", "1.5", "9999999999"]),
    "f": (pa.float32(), lambda n: n / 10, ["0.1", "-0.3", "0", "1e300", "0.25"]),
    "x": (pa.float64(), lambda n: n / 2, ["-1.5", "0", "1", "7"]),
    "d": (pa.decimal128(9, 2), Decimal, ["1", "-2.00", "0.005"]),
    "s": (pa.string(), lambda n: "é" * (n + 3), ["''", "'é'", "'éé'", "'z'"]),
    "day": (pa.date32(), lambda n: DAY + dt.timedelta(n), ["DATE '2024-01-02'", "'2023-12-31'"]),
    "t": (pa.timestamp("us", "UTC"), lambda n: TIME + dt.timedelta(microseconds=300 * n), ["'2024-01-01'"]),
    "b": (pa.bool_(), lambda n: n > 0, ["TRUE", "FALSE"]),
}
SCHEMA = pa.schema([(name, kind) for name, (kind, _, _) in COLUMNS.items()])


@st.composite
def comparisons(draw):
    name = draw(st.sampled_from(list(COLUMNS)))
    of_column = st.sampled_from(COLUMNS[name][2])
    form = draw(
        st.sampled_from(
            [
                "{c} = {a}",
                "{c} <> {a}",
                "{c} < {a}",
                "{c} >= {a}",
                "{c} BETWEEN {a} AND {b}",
                "{c} IN ({a}, {b})",
                "{c} NOT IN ({a}, {b})",
                "{c} IS NULL",
                "{c} IS NOT NULL",
            ]
        )
    )
    return form.format(c=name, a=draw(of_column), b=draw(of_column))


CONDITIONS = st.recursive(
    comparisons(),
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["AND", "OR"]), inner)
        | st.builds("NOT ({})".format, inner)
    ),
    max_leaves=4,
)
FILES = st.lists(st.lists(st.none() | NUMBERS, min_size=1, max_size=3), min_size=1, max_size=5)


def told(value):
    """A value as Delta's statistics tell it; times are cut to milliseconds."""
    if isinstance(value, dt.datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return int(value)
    return str(value) if isinstance(value, dt.date) else value


def rows_of(numbers):
    return pa.table(
        {
            name: pa.array([None if n is None else value(n) for n in numbers], kind)
            for name, (kind, value, _) in COLUMNS.items()
        }
    )


def statistics_of(rows, lacking):
    held = {
        name: [value for value in rows[name].to_pylist() if value is not None]
        for name in rows.column_names
        if name != "b" and name not in lacking
    }
    return {
        "numRecords": rows.num_rows,
        "minValues": {name: told(min(values)) for name, values in held.items() if values},
        "maxValues": {name: told(max(values)) for name, values in held.items() if values},
        "nullCount": {name: rows[name].null_count for name in rows.column_names if name not in lacking},
    }


def verdicts(condition, statistics):
    predicate = Predicate.of(condition, SCHEMA)
    files = [
        LiveFile(
            "f",
            None,
            json.loads(text)["numRecords"] if text and text.startswith('{"n') else None,
            statistics=text,
        )
        for text in statistics
    ]
    return predicate.files(
        BoundsOfFiles(files, {name: name for name in SCHEMA.names}, SCHEMA, holds_lists=False)
    ).to_pylist()


@pytest.mark.slow
@given(CONDITIONS, FILES, st.sets(st.sampled_from(list(COLUMNS)), max_size=2))
@example("t > '2024-01-01'", [[1]], set())
@example("NOT (n IN (2, 0))", [[2, 2], [0], [None, 2]], set())
def test_a_file_with_rows_is_never_left_out(condition, files, lacking):
    parts = [rows_of(numbers) for numbers in files]
    predicate = Predicate.of(condition, SCHEMA)
    texts = [json.dumps(statistics_of(part, lacking)) for part in parts]
    for part, verdict in zip(parts, verdicts(condition, texts), strict=True):
        assert not (verdict is False and part.filter(predicate.rows).num_rows), (condition, part.to_pylist())


#: What is compared in another type than the column's, where bounds of files tell little.
CAST = re.compile(r"\b(b|f|1\.5|9999999999|0\.005)\b")


@pytest.mark.slow
@given(CONDITIONS.filter(lambda text: not CAST.search(text)), FILES)
def test_bounds_tell_at_least_what_pyarrow_finds_in_them(condition, files):
    rows = Predicate.of(condition, SCHEMA).rows
    texts = [json.dumps(statistics_of(rows_of(numbers), ())) for numbers in files]
    ours, arrows = verdicts(condition, texts), verdicts(rows, texts)
    assert all(mine is False for mine, arrow in zip(ours, arrows, strict=True) if arrow is False), condition


@pytest.mark.parametrize(
    ("condition", "opened"),
    [
        ("n > 1", "bcdf"),
        ("n BETWEEN 3 AND 4", "bdf"),
        ("n IN (-2, 9)", "abdf"),
        ("n NOT IN (5)", "abdf"),
        ("n IS NULL", "bdef"),
        ("n IS NOT NULL", "abcdf"),
        ("n <> 5 AND n <= 6", "abdf"),
        ("n = 0.5 OR n < -9", "abcdf"),
        (pc.field("n") > 1, "bcdf"),
        (pc.field("n") + 1 > 100, "abcdf"),
    ],
)
def test_what_is_not_known_is_opened(condition, opened):
    texts = [
        '{"numRecords":9,"minValues":{"n":-2},"maxValues":{"n":1},"nullCount":{"n":0}}',
        '{"numRecords":9,"minValues":{"n":-2},"maxValues":{"n":4}}',
        '{"numRecords":9,"minValues":{"n":5},"maxValues":{"n":5},"nullCount":{"n":0}}',
        '{"numRecords":9,"minValues":{"n":-2},"nullCount":{"n":1}}',
        '{"numRecords":9,"nullCount":{"n":9}}',
        "no JSON",
    ]
    verdict = verdicts(condition, texts)
    assert "".join(name for name, may in zip("abcdef", verdict, strict=True) if may is not False) == opened


def test_one_odd_text_among_many_changes_nothing_of_the_others():
    usual = [
        f'{{"numRecords":9,"minValues":{{"n":{n},"s":"a{n:03}"}},'
        f'"maxValues":{{"n":{n + 1},"s":"b{n:03}"}},"nullCount":{{"n":0}}}}'
        for n in range(300)
    ]
    alone = verdicts("n = 7 OR s > 'b298'", usual)
    assert [n for n, may in enumerate(alone) if may] == [6, 7, 299]
    for odd in (
        '{"numRecords":9,"minValues":{"n":1.5},"maxValues":{"n":7.5}}',
        '{"numRecords":9,"minValues":{"n":8,"s":"\\ud800"},"maxValues":{"n":9,"s":"b"},"nullCount":{"n":0}}',
        '{"numRecords":9,"minValues":{"n":8,"n":1},"maxValues":{"n":9},"nullCount":{"n":0}}',
        "[]",
        None,
    ):
        assert verdicts("n = 7 OR s > 'b298'", [odd, *usual])[1:] == alone


@pytest.mark.parametrize(
    ("condition", "opened"),
    [
        ("t IN ('2020-06-01', '2021-06-01')", "ab"),
        ("t NOT IN ('2020-06-01')", "abc"),
        ("t = '2021-06-01'", "ab"),
        ("t > '2020-06-01'", "abc"),
        ("t < '2020-06-01'", "ab"),
        ("t IS NULL", ""),
        (pc.field("t") < pa.scalar(dt.datetime(2020, 6, 1), pa.timestamp("us", "UTC")), "ab"),
    ],
)
def test_bounds_of_a_year_that_python_does_not_know_tell_nothing(condition, opened):
    """As Spark writes the end of all times in a zone where it is later or earlier in UTC."""
    spans = [
        ("2020-01-01T00:00:00.000Z", "9999-12-31T23:59:59.000-08:00"),
        ("0001-01-01T00:00:00.000+01:00", "2020-01-01T00:00:00.000Z"),
        ("2022-01-01T00:00:00.000-08:00", "9999-12-31T23:59:59.000+01:00"),
    ]
    texts = [
        f'{{"numRecords":9,"minValues":{{"t":"{low}"}},"maxValues":{{"t":"{high}"}},"nullCount":{{"t":0}}}}'
        for low, high in spans
    ]
    verdict = verdicts(condition, texts)
    assert "".join(name for name, may in zip("abc", verdict, strict=True) if may is not False) == opened


@pytest.mark.parametrize("first", ["0001-01-01T00:00:00.000Z", "0001-01-02T00:00:00.000+14:00"])
def test_the_first_moment_of_all_hides_no_bounds(first):
    """Some programs write it for none."""
    text = (
        f'{{"numRecords":9,"minValues":{{"t":"{first}"}},'
        '"maxValues":{"t":"2020-01-01T00:00:00.000Z"},"nullCount":{"t":0}}'
    )
    assert list(verdicts("t > '2025-01-01T00:00:00Z'", [text])) == [False]


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("1899-12-31T23:50:39", "1900-01-01T00:00:00.000+00:09"),  # Paris, at +00:09:21
        ("1800-01-01T04:56:02", "1800-01-01T00:00:00.000-04:56"),  # New York, at -04:56:02
        ("1971-12-31T12:00:00", "1971-12-31T11:15:30.000-00:44"),  # Monrovia, at -00:44:30
        ("1899-12-31T23:50:39", "1899-12-31T23:51:00Z"),  # as a checkpoint has the first
        # The first under spark.sql.legacy.timeParserPolicy=LEGACY
        ("1899-12-31T23:50:39", "1900-01-01T00:00:00.000+01:00"),
    ],
)
def test_old_moments_are_found_though_their_offset_had_seconds(at, told):
    """Statistics tell offsets in whole minutes, or those of later years, so such a moment is told beside what it is."""
    text = (
        f'{{"numRecords":1,"minValues":{{"t":"{told}"}},"maxValues":{{"t":"{told}"}},"nullCount":{{"t":0}}}}'
    )
    moment = dt.datetime.fromisoformat(at).replace(tzinfo=dt.timezone.utc)
    is_it = pc.field("t") == pa.scalar(moment, pa.timestamp("us", "UTC"))
    conditions = [f"t {sign} '{at}Z'" for sign in ("=", "<=", ">=")]
    for condition in (*conditions, f"t IN ('{at}Z', '2024-01-01')", is_it):
        assert verdicts(condition, [text]) == [True]
    about = dt.timedelta(minutes=2) if moment.year > 1900 else dt.timedelta(days=25)
    assert verdicts(f"t < '{moment - about}' OR t > '{moment + about}'", [text]) == [False]


OPERATORS = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@pytest.mark.parametrize("by", ["-1.5", "-1", "-0.5", "0", "0.5", "1", "1.5"])
@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64()], ids=str)
def test_whole_numbers_beside_the_ends_of_their_type(kind, by):
    ends = [-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1]
    rows = pa.table({"n": pa.array([*ends, None], kind)})
    texts = [
        f'{{"numRecords":2,"minValues":{{"n":{n}}},"maxValues":{{"n":{n}}},"nullCount":{{"n":1}}}}'
        for n in ends
    ]
    files = [LiveFile("f", None, 2, statistics=text) for text in texts]
    bounds = BoundsOfFiles(files, {"n": "n"}, rows.schema, holds_lists=False)
    for at in (Decimal(end) + Decimal(by) for end in ends):
        cases = {f"n BETWEEN 1 AND {at}": [1 <= n <= at for n in ends]}
        for sign, compare in OPERATORS.items():
            expected = [compare(n, at) for n in ends]
            cases |= dict.fromkeys((f"n {sign} {at}", f"NOT (NOT {at} {MIRRORED[sign]} n)"), expected)
        for condition, expected in cases.items():
            predicate = Predicate.of(condition, rows.schema)
            held = rows.filter(predicate.rows)["n"].to_pylist()
            assert held == [n for n, is_held in zip(ends, expected, strict=True) if is_held], condition
            may = predicate.files(bounds).to_pylist()
            assert not any(is_held and is_may is False for is_held, is_may in zip(expected, may, strict=True))


@pytest.mark.parametrize("number", ["9999999999999999999e0", "-9999999999999999999e0", "1e19", "1e400"])
def test_doubles_of_more_digits_than_whole_numbers_have_are_refused(number):
    """The first two are 1e19 as doubles."""
    for condition in (f"n >= {number}", f"n IN ({number}, 1)"):
        with pytest.raises(InvalidInputError, match="too many digits"):
            Predicate.of(condition, SCHEMA)
    assert Predicate.of("n < 9223372036854775807e0", SCHEMA)


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("day = '2020-02-30'", "'2020-02-30' is no date: day"),
        ("day IN ('2020-02-28', 'x')", "'x' is no date: a day is written like"),
        ("t = '2020-02-30'", "'2020-02-30' is no timestamp: day"),
        ("t = DATE '2020-02-30'", "'2020-02-30' is no date: day"),
        ("t = TIMESTAMP 'x'", "'x' is no timestamp: a moment is written like"),
        ("s = '\ud800'", "is no text"),
    ],
)
def test_constants_that_are_none_of_the_type_that_is_asked_for(condition, told):
    with pytest.raises(InvalidInputError, match=told):
        Predicate.of(condition, SCHEMA)


def cut_by_old_delta(text):
    """The largest text of a file as Delta before 3.3 tells it. Java has texts as units of 16 bits."""
    units = text.encode("utf-16-be")
    if len(units) <= 64:
        return text
    end = 64
    while units[end : end + 2] >= b"\xff\xfd":
        end += 2
    # Java writes `?` for half of a character.
    return re.sub("[\ud800-\udbff]$", "?", units[:end].decode("utf-16-be", "surrogatepass")) + "\ufffd"


@pytest.mark.slow
@given(
    st.text("ab?\uffff\ufffd\U0001f33c\U0010fffe", min_size=28, max_size=36)
    | st.text(st.characters(codec="utf-8", max_codepoint=0x10FFFE), max_size=4).map(("a" * 31).__add__)
)
@example("a" * 32 + "\U0001f33c flower")
@example("a" * 31 + "\U0001f33c flower")
@example("a" * 32 + "\ufffd\U0001f33c")
def test_a_long_text_is_found_though_old_versions_of_delta_cut_it(text):
    largest = cut_by_old_delta(text)
    statistics = {"numRecords": 1, "minValues": {"s": ""}, "maxValues": {"s": largest}, "nullCount": {"s": 0}}
    for condition in (pc.field("s") == text, pc.field("s") > largest):
        if pa.table({"s": [text]}).filter(condition).num_rows:
            assert verdicts(condition, [json.dumps(statistics)]) != [False]
    assert text <= value_span(statistics, {}, "s", GroupKind.TEXT, holds_lists=False).high
