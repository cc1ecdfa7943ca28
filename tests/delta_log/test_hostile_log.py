"""A log that somebody else wrote, whatever it holds: it is read, or refused with an error of ours and nothing else."""

from __future__ import annotations

import itertools
import json
import os

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.errors import FormatError, QbeastError, StorageError
from pyqbeast.deletion_vectors.table import file_vectors, read_vector
from pyqbeast.deletion_vectors.vector_files import FsspecStore
from pyqbeast.delta import DeletionVector, DeletionVectorDescriptor
from pyqbeast.delta_log.file_checks import usable_statistics
from pyqbeast.delta_log.reader import read_snapshot
from tests.core.hostile import ODD, hostile_texts
from tests.deletion_vectors.tables import METADATA, PROTOCOL, add, remove, write_json

INLINE = DeletionVector([1, 5]).to_inline()
ON_DISK = DeletionVectorDescriptor("u", "ab^-aqEH.-t@S}K{vb[*k^", 4, 40, 6)
ABSOLUTE = DeletionVectorDescriptor("p", "memory://elsewhere/dv.bin", 1, 40, 6)
ACTIONS = [
    PROTOCOL,
    METADATA,
    add("a", 10),
    add("b", 10, INLINE),
    add("c%20d", 10, ON_DISK),
    add("memory://e/f", 10, ABSOLUTE),
    remove("a"),
    {"sidecar": {"path": "s.json", "sizeInBytes": 1, "modificationTime": 0}},
]
TEXTS = [json.dumps(action) for action in ACTIONS]
numbers = itertools.count()


def read_all(table):
    """Everything that is read of a table without Spark."""
    snapshot = answered(read_snapshot, table)
    if snapshot is not None:
        answered(file_vectors, snapshot)
        for file in snapshot.files:
            answered(
                read_vector, file.deletion_vector, file.path, file.physical_rows, table, FsspecStore(table)
            )


def answered(read, *arguments):
    """What `read` answers; None where it refuses, in a message that somebody can read."""
    try:
        return read(*arguments)
    except QbeastError as error:
        message = str(error)
    assert len(message) < 4_000
    return None


@pytest.fixture(scope="module")
def memory():
    files = fsspec.filesystem("memory")

    def put(name, content):
        table = f"hostile{next(numbers)}"
        files.pipe_file(f"/{table}/_delta_log/{name}", content)
        sound = "\n".join(map(json.dumps, (PROTOCOL, METADATA)))
        files.pipe_file(f"/{table}/_delta_log/{1:020d}.json", sound.encode())
        return f"memory://{table}"

    return put


NAMES = [f"{0:020d}.json", f"{0:020d}.checkpoint.{'a' * 36}.json"]


@pytest.mark.slow
@given(st.lists(st.sampled_from(TEXTS), max_size=2), hostile_texts(TEXTS), st.sampled_from(NAMES))
def test_a_hostile_line_of_json_is_read_or_refused_in_a_short_message(memory, good, hostile, name):
    lines = [json.dumps(PROTOCOL), *good, hostile]
    read_all(memory(name, "\n".join(lines).encode("utf-8", "surrogatepass")))


#: What `read_json` refuses and other decoders of JSON take.
LENIENT = ['{"a":1,"a":2}', "NaN", "-Infinity", "1e400", '{"a":' * 120 + "1" + "}" * 120, "9" * 2_000]


@pytest.mark.parametrize("value", LENIENT, ids=lambda value: value[:9])
def test_what_says_nothing_of_the_table_may_hold_any_json(memory, value):
    """Programs write what users give them into `commitInfo`, and actions that nobody knows are skipped."""
    for action in ("commitInfo", "cdc", "foo"):
        table = memory(NAMES[0], f'{{"{action}":{{"x":{value}}}}}\n{TEXTS[2]}\n'.encode())
        assert [file.path for file in read_snapshot(table).files] == ["a"]
    for line in (
        f'{{"add":{{"path":"b","x":{value}}}}}',
        f'{{"txn":{value}}}',
        f'{{"foo":{value},"remove":7}}',
    ):
        with pytest.raises(FormatError, match=r"line 1: (not JSON|lists more than)"):
            read_snapshot(memory(NAMES[0], line.encode()))


@pytest.mark.slow
@given(st.binary(max_size=40), st.sampled_from(NAMES))
def test_bytes_that_are_no_text_are_refused_in_a_short_message(memory, content, name):
    read_all(memory(name, content))


PLAIN = [each for each in ODD if each is None or type(each) in (bool, int, float, str)]
FITTING = [each for each in PLAIN if not (type(each) is int and abs(each) >= 2**63) and each != "\ud800"]
PATHS = ["a", "", "%", "%00", "/", "memory://x/%2F", "nosuch://x", "http://[x", "a\0b", "file:///", "é" * 300]


DESCRIPTORS = st.fixed_dictionaries(
    {
        name: st.just(value) | st.sampled_from(FITTING)
        for name, value in json.loads(ON_DISK.to_json()).items()
    },
    optional={"maxRowIndex": st.sampled_from(FITTING)},
)
ADDS = st.fixed_dictionaries(
    {"path": st.sampled_from([*PATHS, *FITTING])},
    optional={
        "stats": st.sampled_from(['{"numRecords":7}', *FITTING]),
        "stats_parsed": st.fixed_dictionaries({"numRecords": st.sampled_from(FITTING)}),
        "deletionVector": DESCRIPTORS,
    },
)
SIDECARS = st.fixed_dictionaries({"path": st.sampled_from([*PATHS, *FITTING])})
PROTOCOLS = st.sampled_from([PROTOCOL["protocol"], {"minReaderVersion": "3"}, {"readerFeatures": [7]}, 7])


@pytest.mark.slow
@given(
    st.fixed_dictionaries({"add": ADDS | st.sampled_from(FITTING)}, optional={"protocol": PROTOCOLS})
    | st.fixed_dictionaries({"sidecar": SIDECARS | st.sampled_from(FITTING)})
)
def test_a_hostile_checkpoint_in_parquet_is_read_or_refused_in_a_short_message(memory, row):
    """Columns of any type: a struct of what was drawn, or the drawn value itself."""
    content = pa.BufferOutputStream()
    try:
        pq.write_table(pa.table({kind: [value] for kind, value in row.items()}), content)
    except pa.ArrowException:
        return  # Parquet has no way to say it
    read_all(memory(f"{0:020d}.checkpoint.parquet", content.getvalue().to_pybytes()))


@pytest.mark.slow
@given(hostile_texts(['{"numRecords":7,"minValues":{"a":1},"maxValues":{"a":[2]},"nullCount":{"a":0}}']))
def test_the_statistics_of_a_file_say_something_or_nothing(text):
    told = usable_statistics(text)
    assert all(isinstance(told.get(name, {}), dict) for name in ("minValues", "maxValues", "nullCount"))
    assert type(told.get("numRecords", 0)) is int


@pytest.mark.parametrize("path", ["..", "%00.json", "x/y.json", "folder.json", "folder.parquet", ""])
def test_a_sidecar_that_is_no_file(tmp_path, path):
    for name in ("json", "parquet"):
        (tmp_path / "_delta_log" / "_sidecars" / f"folder.{name}").mkdir(parents=True)
    sidecar = {"sidecar": {"path": path, "sizeInBytes": 1, "modificationTime": 0}}
    write_json(tmp_path / "_delta_log" / NAMES[1], PROTOCOL, sidecar)
    with pytest.raises(FormatError, match=f"{path}.*(missing|not a readable)".replace("%00", "\0")):
        read_snapshot(tmp_path)


@pytest.mark.parametrize("kind", ["json", "parquet"])
@pytest.mark.parametrize("is_absolute", [True, False])
def test_a_pipe_in_the_place_of_a_sidecar_is_told(tmp_path, is_absolute, kind):
    """To open it would wait for whoever writes into it."""
    pipe = tmp_path / "_delta_log" / "_sidecars" / f"pipe.{kind}"
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    path = f"file:{pipe}" if is_absolute else pipe.name
    sidecar = {"sidecar": {"path": path, "sizeInBytes": 1, "modificationTime": 0}}
    write_json(tmp_path / "_delta_log" / NAMES[1], PROTOCOL, METADATA, sidecar)
    with pytest.raises(StorageError, match=rf"pipe\.{kind} is a pipe or a device and no file"):
        read_snapshot(tmp_path)


def test_a_pipe_in_the_place_of_a_commit_is_told(tmp_path):
    write_json(tmp_path / "_delta_log" / NAMES[0], PROTOCOL, METADATA)
    os.mkfifo(tmp_path / "_delta_log" / f"{1:020d}.json")
    with pytest.raises(StorageError, match=r"1\.json is a pipe or a device and no file"):
        read_snapshot(tmp_path)


@pytest.mark.parametrize("odd", [True, 5, ["{}"], {"fields": []}, False, 0, [], {}], ids=str)
def test_a_schema_or_statistics_that_are_no_text(memory, odd):
    metadata = {"metaData": METADATA["metaData"] | {"schemaString": odd}}
    file = add("a", 10)
    file["add"]["stats"] = odd
    for line, named in ((metadata, "schemaString"), (file, "stats")):
        table = memory(NAMES[0], "\n".join(json.dumps(each) for each in (PROTOCOL, line)).encode())
        with pytest.raises(FormatError, match=f"{named}: a text is expected, not "):
            read_snapshot(table)


@pytest.mark.parametrize(
    "column",
    [
        {"type": {"type": "x", "fields": {"a": 1}}},
        {"type": {"type": "array", "elementType": "long", "fields": [5]}},
        {"type": {"type": "x", "elementType": {"fields": 3}}},
        {"type": {"type": "struct", "fields": [], "valueType": 7}},
        {"type": {"type": "map", "keyType": "long"}},
        {"type": {"type": "struct"}},
        {"metadata": {"delta.columnMapping.physicalName": "\ud800"}},
        {"metadata": {"delta.columnMapping.physicalName": ["a"]}},
        {"metadata": {"delta.columnMapping.physicalName": None}},
    ],
    ids=str,
)
def test_a_column_that_is_none(memory, column):
    inner = {"name": "a", "type": "long", "nullable": True, "metadata": {}} | column
    for field in (inner, {"name": "s", "type": {"type": "struct", "fields": [inner]}}):
        schema = json.dumps({"type": "struct", "fields": [field]})
        metadata = {"metaData": METADATA["metaData"] | {"schemaString": schema}}
        table = memory(NAMES[0], "\n".join(json.dumps(each) for each in (PROTOCOL, metadata)).encode())
        with pytest.raises(FormatError, match="schemaString: no list of columns"):
            read_snapshot(table)
