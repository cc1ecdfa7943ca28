"""The most rows of a key in several writes: they add up where the writes may have a key in common."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyqbeast.core.format.constants import TAG_KEY_ROWS
from pyqbeast.core.format.key_frequency import KeyFrequency
from pyqbeast.core.revisions.revision import Revision
from pyqbeast.core.sampling.rows_of_a_key import KeyedFile, most_rows_of_a_key
from pyqbeast.core.transform.empty import Empty
from pyqbeast.core.transform.registry import transformer_for


def revisions(**types):
    """One revision that hashes columns of these types."""
    transformers = tuple(transformer_for(name, None, "LongDataType") for name in types)
    recorded = ",".join(f'{{"name":"{name}","type":"{kind}"}}' for name, kind in types.items())
    return {
        1: Revision(1, 0, "", 1000, transformers, (Empty(),) * len(types), hashed_as=f"[{recorded}]"),
    }


def file(write, rows, revision=1, nulls=0, **spans):
    """A file whose columns lie between such values."""
    statistics = {
        "numRecords": 100,
        "minValues": {name: low for name, (low, _) in spans.items()},
        "maxValues": {name: high for name, (_, high) in spans.items()},
        "nullCount": dict.fromkeys(spans, nulls),
    }
    return KeyedFile(revision, {TAG_KEY_ROWS: KeyFrequency(write, rows).to_tag()}, statistics)


def counted(write, columns):
    """A file of one row a key, of columns with one value and a number of nulls each."""
    statistics = {
        "numRecords": 1,
        "minValues": {name: value for name, (value, _) in columns.items() if value is not None},
        "maxValues": {name: value for name, (value, _) in columns.items() if value is not None},
        "nullCount": {name: nulls for name, (_, nulls) in columns.items()},
    }
    return KeyedFile(1, {TAG_KEY_ROWS: KeyFrequency(write, 1).to_tag()}, statistics)


def most(files, **types):
    return most_rows_of_a_key(files, revisions(**types))


def test_writes_that_lie_apart_in_a_column_have_no_key_in_common():
    appends = [file(f"w{n}", 1, k=(10 * n, 10 * n + 9)) for n in range(365)]
    assert most(appends, k="long") == 1
    assert most([*appends, file("again", 2, k=(3, 4))], k="long") == 3
    assert most([*appends, file("all", 1, k=(0, 9_999))], k="long") == 2


def test_the_column_that_tells_most_counts():
    """All writes hold the same sensors, each of its own day."""
    appends = [file(f"w{n}", 2, sensor=(1, 9), day=(f"2024-01-{n:02}",) * 2) for n in range(1, 21)]
    assert most(appends, sensor="integer", day="date") == 2
    assert most(appends, sensor="integer", day="string") == 40


def test_spans_that_meet_in_one_value_have_it_in_common():
    files = [file("a", 3, k=(1, 5)), file("b", 4, k=(5, 9)), file("c", 5, k=(10, 12))]
    assert most(files, k="long") == 7


def test_a_write_lies_where_any_of_its_files_does():
    files = [file("a", 1, k=(1, 2)), file("a", 2, k=(8, 9)), file("b", 4, k=(5, 6))]
    assert most(files, k="long") == 6


def test_moments_of_one_millisecond_may_be_equal():
    """Statistics cut them."""
    noon = "2024-01-01T12:00:00"
    for later, rows in ((".000Z", 2), (".001Z", 1)):
        files = [file("a", 1, t=(noon + ".000Z",) * 2), file("b", 1, t=(noon + later,) * 2)]
        assert most(files, t="timestamp") == rows


def test_old_moments_may_be_equal_though_their_offsets_tell_otherwise():
    """Offsets of local mean time have seconds, which statistics leave out: Amsterdam's was +00:19:32."""
    in_amsterdam, in_utc = ("1930-01-01T12:19:32.000+00:19",) * 2, ("1930-01-01T12:00:00.000Z",) * 2
    assert most([file("a", 1, t=in_amsterdam), file("b", 1, t=in_utc)], t="timestamp") == 2
    in_monrovia, in_utc = ("1971-12-31T11:15:30.000-00:44",) * 2, ("1971-12-31T12:00:00.000Z",) * 2
    assert most([file("a", 1, t=in_monrovia), file("b", 1, t=in_utc)], t="timestamp") == 2
    for year, kind, zone, rows in (
        (1930, "timestamp", "Z", 2),
        (1930, "timestamp_ntz", "", 1),
        (1973, "timestamp", "Z", 1),
    ):
        seconds = [(f"{year}-06-01T12:00:{second:02}.000{zone}",) * 2 for second in (0, 32)]
        assert most([file(f"w{n}", 1, t=span) for n, span in enumerate(seconds)], t=kind) == rows
    days = [file(f"w{n}", 1, t=(f"1930-01-{n:02}T00:10:00.000Z",) * 2) for n in range(1, 20)]
    assert most(days, t="timestamp") == 1


def test_numbers_that_no_double_tells_apart_may_be_equal():
    assert most([file("a", 1, k=(0, 2**53)), file("b", 1, k=(2**53 + 1, 2**54))], k="long") == 2
    assert most([file("a", 1, k=(0, 2**53)), file("b", 1, k=(2**53 + 2, 2**54))], k="long") == 1


def test_nulls_have_the_key_of_any_other_write():
    """A null leaves a hash as it is: (null, 1) has the weight of (1, null)."""
    apart = [file("a", 1, k=(1, 2)), file("b", 1, k=(5, 6)), file("c", 1, k=(8, 9), nulls=3)]
    assert most(apart, k="long") == 2
    assert most([*apart[:2], file("c", 1, k=(None, None), nulls=100)], k="long") == 2
    assert most([*apart[:2], file("c", 1, k=(8, 9), nulls=None)], k="long") == 2


def test_nulls_in_a_column_hashed_before_let_a_value_take_another_place():
    """(20, 5, null) has the weight of (null, 20, 5), though both have a value in b."""
    first = counted("w1", {"a": (20, 0), "b": (5, 0), "c": (None, 1)})
    second = counted("w2", {"a": (None, 1), "b": (20, 0), "c": (5, 0)})
    assert most([first, second], a="integer", b="integer", c="integer") == 2
    # Whatever the type of the column before.
    for before in ("long", "string", "double"):
        assert most([first, second], a=before, b="integer", c="integer") == 2
    apart = [counted(f"w{n}", {"a": (n, 0), "b": (7, 0), "c": (None, 1)}) for n in range(3)]
    assert most(apart, a="integer", b="integer", c="integer") == 1


def test_values_after_an_array_take_any_place():
    """([1], 5, 7) has the weight of ([1, 5], 7, null)."""
    array = {"type": "array", "elementType": "integer"}
    recorded = [{"name": "a", "type": array}, *({"name": name, "type": "integer"} for name in "bc")]
    (revision,) = revisions(a="long", b="long", c="long").values()
    files = [
        counted("w1", {"a": (None, 0), "b": (5, 0), "c": (7, 0)}),
        counted("w2", {"a": (None, 0), "b": (7, 0), "c": (None, 1)}),
    ]
    assert most_rows_of_a_key(files, {1: replace(revision, hashed_as=json.dumps(recorded))}) == 2
    first = json.dumps([recorded[1], recorded[0], recorded[2]])
    assert most_rows_of_a_key(files, {1: replace(revision, hashed_as=first)}) == 1


@pytest.mark.parametrize("span", [None, (None, 3), (1, None), (3, 1), ("x", "y"), ([], {})])
def test_a_write_whose_files_do_not_tell_may_have_any_key(span):
    files = [file("a", 1, k=(11, 12)), file("b", 1, k=(15, 16)), file("c", 1, k=(17, 18))]
    untold = file("c", 1) if span is None else file("c", 1, k=span)
    assert most(files, k="long") == 1
    assert most([*files, untold], k="long") == 2
    assert most([*files[:2], KeyedFile(1, files[2].tags, {})], k="long") == 2


@pytest.mark.parametrize("kind", ["string", "float", "double", "decimal(9,2)", "boolean"])
def test_values_that_statistics_tell_less_well_are_left_out(kind):
    assert most([file("a", 1, k=(1, 2)), file("b", 1, k=(5, 6))], k=kind) == 2


def test_revisions_that_record_no_types_add_up_all_writes():
    files = [file("a", 1, k=(1, 2)), file("b", 1, k=(5, 6))]
    (revision,) = revisions(k="long").values()
    plain = Revision(1, 0, "", 1000, revision.transformers, revision.transformations)
    assert most_rows_of_a_key(files, {1: plain}) == 2
    # Revisions of one table whose weights are those of today hash the same columns.
    assert most_rows_of_a_key(files, {1: plain, 2: revision}) == 1


def test_keys_that_were_counted_by_another_hash_may_be_one():
    files = [file("w1", 7, k=(1, 2)), file("w1", 7, revision=2, k=(5, 6))]
    known = revisions(k="long")
    assert most_rows_of_a_key(files, {1: known[1], 2: known[1]}) == 7
    assert most_rows_of_a_key(files, {2: known[1]}) is None
    assert most_rows_of_a_key([KeyedFile(1, {}, {})], known) is None
    assert most_rows_of_a_key([], known) == 0


VALUES = st.one_of(st.none(), st.integers(0, 6))


@pytest.mark.slow
@given(
    st.lists(
        st.lists(st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=4), max_size=3), max_size=6
    )
)
@example([[[(20, 5, None)]], [[(None, 20, 5)]]])
def test_no_key_has_more_rows_than_the_bound(writes):
    """Of keys of three columns; nulls do not count in a hash."""
    files = []
    for write, parts in enumerate(writes):
        rows = Counter(map(hashed, itertools.chain(*parts)))
        for part in parts:
            statistics = {"numRecords": len(part), "minValues": {}, "maxValues": {}, "nullCount": {}}
            for name, values in zip("abc", zip(*part, strict=True), strict=True):
                held = [value for value in values if value is not None]
                statistics["nullCount"][name] = len(part) - len(held)
                if held:
                    statistics["minValues"][name], statistics["maxValues"][name] = min(held), max(held)
            tags = {TAG_KEY_ROWS: KeyFrequency(f"w{write}", max(rows.values())).to_tag()}
            files.append(KeyedFile(1, tags, statistics))
    rows = Counter(hashed(key) for parts in writes for part in parts for key in part)
    bound = most(files, a="long", b="integer", c="long")
    assert bound >= max(rows.values(), default=0)


def hashed(key):
    return tuple(value for value in key if value is not None)
