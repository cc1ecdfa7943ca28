"""Evolution: when a write goes on with the revision of a table, and what a new one covers."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.core.revisions.evolution import evolve, known_before, stated_by, updated_transformers
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.core.transform.base import ColumnStatistics
from pyqbeast.core.transform.column_spec import parse_column_spec
from pyqbeast.core.transform.hashing import Hash
from pyqbeast.core.transform.linear import Identity, Linear
from pyqbeast.core.transform.quantiles import NumericQuantiles
from pyqbeast.core.transform.text_quantiles import StringHistogram, StringQuantiles

DECIMAL = "DecimalDataType"
INT, LONG, STRING = "IntegerDataType", "LongDataType", "StringDataType"
DATE, TIMESTAMP, DOUBLE, FLOAT = "DateDataType", "TimestampDataType", "DoubleDataType", "FloatDataType"


def write(
    current,
    columns="c",
    low=None,
    high=None,
    *,
    stated=None,
    cube_size=None,
    types=INT,
    is_prunable=True,
    next_id=None,
):
    specs = parse_column_spec(columns)
    transformers = updated_transformers(current, specs, {spec.name: types for spec in specs})
    return evolve(
        current,
        transformers,
        {spec.name: ColumnStatistics(minimum=low, maximum=high) for spec in specs},
        stated or {},
        cube_size=cube_size if current else cube_size or 100,
        table_id="/t",
        now_ms=current.timestamp + 1 if current else 1,
        rng=random.Random(5),
        is_prunable=is_prunable,
        next_id=next_id,
    )


def span(revision):
    line = revision.transformations[0]
    return (line.minimum, line.maximum)


def test_the_first_write_makes_revision_1():
    first = write(None, low=0, high=9)
    assert (first.id, first.timestamp, first.cube_size, span(first)) == (1, 1, 100, (0, 9))


def test_data_that_fits_goes_on_with_the_same_revision():
    first = write(None, low=0, high=9)
    assert write(first, low=2, high=9) is first
    assert write(first, low=3, high=3) is first
    assert write(first) is first


def test_a_new_revision_takes_a_number_that_no_other_has():
    first = write(None, low=0, high=9)
    assert write(first, low=0, high=99).id == 2
    assert write(first, low=0, high=99, next_id=7).id == 7
    assert write(first, low=2, high=9, next_id=7) is first


def test_rows_do_not_join_a_revision_of_other_weights():
    first = replace(write(None, low=0, high=9), hashed_as='[{"name":"c","type":"integer"}]')
    second = write(first, low=2, high=9, is_prunable=False)
    assert (second.id, span(second), second.hashed_as) == (2, (0, 9), None)


def test_a_wider_range_makes_a_new_revision_over_all():
    second = write(write(None, low=0, high=9), low=5, high=20)
    assert (second.id, second.timestamp, span(second)) == (2, 2, (0, 20))
    assert write(second, low=-3, high=-3).transformations[0].minimum == -3


@pytest.mark.parametrize("types", [INT, LONG, TIMESTAMP, DOUBLE, FLOAT, DECIMAL])
def test_values_that_grow_with_each_write_make_few_revisions(types):
    revision = write(None, low=0, high=9, types=types)
    for batch in range(1, 1_000):
        revision = write(revision, low=10 * batch, high=10 * batch + 9, types=types)
        assert span(revision)[1] >= 10 * batch + 9
    assert revision.id < 25
    assert span(revision)[0] == 0, "room is where values have gone"
    first = write(None, low=0, high=9, types=types)
    assert span(write(first, low=10, high=19, types=types)) == (0, 19), "the first revisions are exact"


@pytest.mark.parametrize(("types", "low", "high", "expected"), [
    (INT, -(2**31), -5, (-(2**31), 2**31 - 10)),
    (INT, 0, 2**31 - 5, (0, 2**31 - 1)),
    (LONG, 2**62, 2**63 - 2, (2**62, 2**63 - 1)),
    (DOUBLE, -1.7e308, 1.7e308, None),
    (FLOAT, 0.0, 3e38, None),
    (TIMESTAMP, 0, 250_000_000_000_000, (0, 253_402_300_799_999)),
    (DATE, 0, 864_000_000, (0, 864_000_000)),
    (DECIMAL, 0.0, 10.0, (0.0, 20.0)),
])  # fmt: skip
def test_room_ends_where_the_type_does(types, low, high, expected):
    """Dates have none: their bounds are midnights, and a sum of two need not be one."""
    half = low / 2 + high / 2 if types in (DOUBLE, FLOAT) else (low + high) // 2
    before = replace(write(None, low=low, high=half, types=types), id=99)
    line = write(before, low=low, high=high, types=types).transformations[0]
    assert line.is_whole
    assert line.minimum == low
    assert line.maximum >= high
    assert expected is None or (line.minimum, line.maximum) == expected
    assert Linear.from_json(line.fields()) == line


def test_what_the_user_states_has_no_room():
    before = replace(write(None, low=0, high=9), id=99)
    stated = {"c": ColumnStatistics(minimum=0, maximum=1_000)}
    assert span(write(before, low=0, high=99, stated=stated)) == (0, 1_000)
    beyond = write(before, low=0, high=2_000, stated=stated)
    assert span(beyond) == (0, 4_000), "but values lie beyond it"


def test_nulls_then_one_value_then_nulls_then_another():
    nulls = write(None)
    ones = write(nulls, low=1, high=1)
    again = write(ones)
    tens = write(again, low=10, high=10)
    assert nulls.transformations == (Identity(INT, None),)
    assert ones.transformations == (Identity(INT, 1),)
    assert again is ones
    assert (tens.id, span(tens)) == (3, (1, 10))


def test_one_value_then_a_range():
    assert span(write(write(None, low=-1, high=-1), low=0, high=99)) == (-1, 99)


def test_what_the_user_states_widens_the_range_and_never_narrows_it():
    stated = {"c": ColumnStatistics(minimum=5, maximum=50)}
    first = write(None, low=0, high=9, stated=stated)
    assert span(first) == (0, 50)
    assert write(first, low=0, high=9, stated=stated) is first


def test_a_kind_changes_only_when_named():
    hashed = write(write(None, low=0, high=9), "c:hashing", 0, 9)
    assert hashed.id == 2
    assert isinstance(hashed.transformations[0], Hash)
    assert write(hashed, "c", 0, 9) is hashed
    assert write(hashed, "c:hashing", 50, 90) is hashed
    back = write(hashed, "c:LINEAR", 3, 4)
    assert (back.id, span(back)) == (3, (3, 4))
    assert write(back, "c:LINEAR", 3, 4) is back


def test_a_changed_column_type_makes_a_new_revision():
    wider = write(write(None, low=0, high=9), low=0, high=9, types=LONG)
    assert wider.id == 2
    assert (wider.transformers[0].data_type, wider.transformations[0].data_type) == (LONG, LONG)


def test_another_cube_size_makes_a_new_revision_with_the_same_transformations():
    first = write(None, low=0, high=9)
    second = write(first, low=0, high=9, cube_size=7)
    assert (second.id, second.cube_size, second.transformations) == (2, 7, first.transformations)
    assert write(second, low=0, high=9) is second


@pytest.mark.parametrize("cube_size", [-1, 2**31])
def test_a_cube_size_that_cannot_be_is_refused(cube_size):
    with pytest.raises(InvalidInputError, match="cubeSize"):
        write(None, low=0, high=9, cube_size=cube_size)


def test_other_columns_are_refused():
    first = write(None, "a,b", 0, 9)
    for columns in ("b,a", "a", "a,b,c"):
        with pytest.raises(InvalidInputError, match="indexed by a, b, not by"):
            write(first, columns, 0, 9)


def test_both_shapes_of_revision_0_give_way():
    staging = Revision.staging("/t", 100, ["c"], 0)
    first = write(staging, low=0, high=9)
    assert (first.id, span(first), first.transformers[0].kind) == (1, (0, 9), "linear")
    created_empty = Revision(0, 0, "/t", 100, first.transformers, ())
    assert span(write(created_empty, low=0, high=9)) == (0, 9)


def test_quantiles_have_to_be_given_once():
    with pytest.raises(InvalidInputError, match="c_quantiles"):
        write(None, "c:quantiles", 0, 9)
    with pytest.raises(InvalidInputError, match="c_quantiles"):
        write(Revision.staging("/t", 100, ["c"], 0), "c:quantiles", 0, 9)
    stated = {"c": ColumnStatistics(quantiles=(0.0, 1.0, 9.0))}
    first = write(None, "c:quantiles", 0, 9, stated=stated)
    assert first.transformations == (NumericQuantiles((0.0, 1.0, 9.0), INT),)
    assert write(first, "c:quantiles", 50, 90) is first
    other = write(first, stated={"c": ColumnStatistics(quantiles=(0.0, 5.0))})
    assert other.transformations == (NumericQuantiles((0.0, 5.0), INT),)


def test_another_kind_starts_from_nothing():
    """Neither a range nor the quantiles of another column kind say anything about quantiles."""
    first = write(None, low=0, high=9)
    with pytest.raises(InvalidInputError, match="c_quantiles"):
        write(first, "c:quantiles", 0, 9)


def test_quantiles_stay_when_their_column_grows_wider():
    first = write(None, "c:quantiles", stated={"c": ColumnStatistics(quantiles=(0.0, 9.0))})
    wider = write(first, types=LONG)
    assert (wider.id, wider.transformations) == (2, (NumericQuantiles((0.0, 9.0), LONG),))


def test_columns_without_bounds_have_their_places_before_any_data_is_read():
    def places(current, columns, stated=()):
        specs = parse_column_spec(columns)
        types = {spec.name: STRING for spec in specs}
        return known_before(current, updated_transformers(current, specs, types), dict(stated))

    stated = {"q": ColumnStatistics(quantiles=("a", "m")), "h": ColumnStatistics(histogram=("b", "y"))}
    columns = "q:quantiles,h:histogram,x"
    assert set(places(None, columns)) == {"h", "x"}
    assert places(None, columns)["h"].is_default
    known = places(None, columns, stated)
    assert known == {"q": StringQuantiles(("a", "m")), "h": StringHistogram(("b", "y")), "x": known["x"]}
    first = write(None, columns, stated=stated, types=STRING)
    assert first.transformations[:2] == (known["q"], known["h"])
    known["x"] = first.transformations[2]
    assert places(first, columns) == known
    other = {"q": ColumnStatistics(quantiles=("a", "z"))}
    assert places(first, columns, other) == {**known, "q": StringQuantiles(("a", "z"))}
    assert stated_by(first, {"q": STRING, "h": STRING, "x": STRING}) == stated


def test_what_is_stated_of_times_tells_nothing_of_numbers():
    stated = {"q": ColumnStatistics(quantiles=(0.0, 1.0, 2.0))}
    first = write(None, "q:quantiles", stated=stated, types=DATE)
    for kept in (DATE, TIMESTAMP):
        assert stated_by(first, {"q": kept}) == stated
    for other in (LONG, DOUBLE, STRING, ""):
        assert stated_by(first, {"q": other}) == {}
    assert stated_by(first, {}) == {}


def test_longs_that_are_one_double_make_one_revision_only():
    first = write(None, low=2**53, high=2**53 + 1, types=LONG)
    assert first.transformations == (Identity(LONG, 2**53),)
    assert write(first, low=2**53, high=2**53 + 1, types=LONG) is first


def test_the_ends_of_doubles_make_one_revision_only():
    first = write(None, low=-1.7e308, high=1.7e308, types="DoubleDataType")
    assert isinstance(first.transformations[0], Linear)
    assert write(first, low=-1.7e308, high=1.7e308, types="DoubleDataType") is first


def test_a_table_that_had_no_range_between_the_ends_of_doubles_gets_one():
    first = write(None, low=-1.7e308, high=-1.7e308, types="DoubleDataType")
    assert first.transformations == (Identity("DoubleDataType", -1.7e308),)
    second = write(first, low=-1.7e308, high=1.7e308, types="DoubleDataType")
    assert (second.id, span(second)) == (2, (-1.7e308, 1.7e308))
