"""Lines of added files read at once: the same as one by one, or left to that."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.stored_text import read_json
from pyqbeast.delta import DeletionVector
from pyqbeast.delta_log import adds_in_bulk
from pyqbeast.delta_log.json_in_bulk import Lines
from pyqbeast.delta_log.live_file import LiveFile
from pyqbeast.delta_log.reader import read_snapshot
from tests.core.hostile import damaged, hostile_texts
from tests.deletion_vectors.tables import METADATA, PROTOCOL

STATISTICS = '{"numRecords":3,"maxValues":{"t":"2020-10-25T02:30:00.000Z"}}'


def line_of(path="a.parquet", **fields):
    told = {"path": path, "size": 7, "stats": STATISTICS, "tags": {"revision": "1", "blocks": "[]"}}
    return json.dumps({"add": {**told, "partitionValues": {}, "dataChange": True, **fields}})


VECTOR = json.loads(DeletionVector([1, 5]).to_inline().to_json())
OTHERS = [line_of(f"part-{number}.parquet") for number in range(40)]
#: Lines that one by one are read as they are, beside others of the usual kind.
READ = [
    line_of(tags={"revision": "1"}),
    line_of(tags={"revision": None, "blocks": None}),
    line_of(size=None, stats=None, tags=None),
    line_of("2020-01-01", tags={"revision": "2020-01-01"}),
    line_of(deletionVector=VECTOR),
    line_of('\u00e9 \\ " \u0000 \U0001f600'),
    line_of().replace(" ", ""),
    line_of().replace("path", "p\\u0061th"),
    line_of(more={"a": [1.5, {"b": None}]}),
    '{"remove": {"path": "part-1.parquet"}}',
]


def in_bulk(texts):
    """What is read at once, with as few lines as a test has."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(adds_in_bulk, "_WORTH", 1)
        return adds_in_bulk.adds_in_bulk(
            Lines.of("".join([text + "\n" for text in texts]).encode("utf-8", "surrogatepass"))
        )


def told(file):
    """All that is read of an added file."""
    return dataclasses.astuple(file)


def one_by_one(texts):
    actions = [read_json(text, "a line") for text in texts]
    assert all(list(action) == ["add"] for action in actions)
    return [LiveFile.of_entry(action["add"], "a line: add") for action in actions]


def test_usual_lines_are_read_at_once():
    found = in_bulk([*OTHERS, *OTHERS])
    assert list(map(told, found)) == list(map(told, one_by_one([*OTHERS, *OTHERS])))
    vectors = [line_of(f"part-{number}.parquet", deletionVector=VECTOR) for number in range(9)]
    assert list(map(told, in_bulk(vectors))) == list(map(told, one_by_one(vectors)))
    assert in_bulk([line_of("2020-01-01")])[0].path == "2020-01-01"
    untagged = [line_of(f"part-{number}.parquet", tags={}) for number in range(9)]
    assert list(map(told, in_bulk(untagged))) == list(map(told, one_by_one(untagged)))


@pytest.mark.parametrize("text", READ)
def test_a_table_with_such_a_line_has_the_files_that_it_says(tmp_path, monkeypatch, text):
    log = tmp_path / "_delta_log" / "00000000000000000000.json"
    log.parent.mkdir()
    log.write_text("\n".join([*map(json.dumps, (PROTOCOL, METADATA)), *OTHERS, text]))
    truth = read_snapshot(tmp_path)
    monkeypatch.setattr(adds_in_bulk, "_WORTH", 1)
    monkeypatch.setattr("pyqbeast.delta_log.actions.AT_ONCE", 3)
    assert list(map(repr, read_snapshot(tmp_path).files)) == list(map(repr, truth.files))


@pytest.mark.parametrize(
    "text",
    [
        line_of(size=1.5),
        line_of(size=10**400),
        line_of(size=float("nan")),
        line_of(other=float("nan")),
        line_of(size="7"),
        line_of(size=-1),
        line_of(path=None),
        line_of(stats='{"numRecords": 3}'),
        line_of(stats='{"numRecords":3,"minValues":{"numRecords":1,"a":{"numRecords":2}}}'),
        line_of(deletionVector={**VECTOR, "storageType": "x"}),
        line_of(tags={"revision": 1}),
        line_of(path=7),
        line_of(path="\ud800"),
        line_of(path="x\udc00"),
        line_of().replace('"size"', '"path": "b", "size"'),
        line_of().replace('"revision"', '"blocks": "[]", "revision"'),
        line_of() + line_of(),
        line_of()[:-1],
        line_of(nested=json.loads('{"a":' * 120 + "1" + "}" * 120)),
        '{"add": null}',
        '{"add": 1}',
        '["add"]',
        "",
    ],
)
@pytest.mark.parametrize("at", [0, 17])
def test_lines_of_another_kind_are_left_to_a_closer_look(text, at):
    texts = [*OTHERS]
    texts.insert(at, text)
    assert in_bulk(texts) is None


@pytest.mark.parametrize("text", ['{"add": null}', '{"add": true}', '{"add": {}}', "{}"])
def test_lines_without_any_file_are_left_too(text):
    assert in_bulk([text] * 3) is None


def test_bytes_that_are_no_text_are_left_too():
    line = line_of("a").encode().replace(b'"a"', b'"\xff"')
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(adds_in_bulk, "_WORTH", 1)
        assert adds_in_bulk.adds_in_bulk(Lines.of(line + b"\n" + line)) is None


@pytest.mark.slow
@given(
    st.lists(
        hostile_texts([*READ, *OTHERS[:3]]).flatmap(damaged) | st.sampled_from([*OTHERS, *READ]),
        min_size=1,
        max_size=9,
    )
)
def test_whatever_is_read_at_once_is_read_so_one_by_one(texts):
    stored = "\n".join(texts).encode("utf-8", "surrogatepass")
    texts = [line.decode("utf-8", "surrogatepass") for line in stored.splitlines()]
    found = in_bulk(texts)
    if found is None:
        return
    try:
        assert list(map(told, found)) == list(map(told, one_by_one(texts)))
    except FormatError as error:
        pytest.fail(f"not refused: {error}")
