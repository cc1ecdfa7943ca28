"""Live files straight from the log: commits, every kind of checkpoint, and what is refused."""

import datetime as dt
import io
import json
import math
import os
from decimal import Decimal

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyqbeast.core.errors import (
    FormatError,
    InvalidInputError,
    StorageError,
    TableNotFoundError,
    UnsupportedError,
)
from pyqbeast.delta import DeletionVector
from pyqbeast.delta_log.live_file import LiveFile
from pyqbeast.delta_log.log_files import readable_versions
from pyqbeast.delta_log.reader import Protocol, Replay, read_snapshot
from tests.deletion_vectors.tables import METADATA, PROTOCOL, add, commit, remove, write_json
from tests.faulty_files import FaultyFiles, PythonFaults
from tests.read_together import reads_together

ONE = DeletionVector([1]).to_inline()
TWO = DeletionVector([1, 2]).to_inline()
UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"
#: Pairs of paths, as entries of a log spell them, that name one file, and pairs that do not.
SAME_FILE = [
    ("x/a", "./x//a"),
    ("x/a", "x/y/../a"),
    ("a%2bb", "a%2Bb"),
    ("/data/t/a", "file:///data/t/a"),
    ("file:/data/t/a", "file:///data//t/a"),
]
OTHER_FILE = [
    ("%61", "a"),
    ("a%2Bb", "a+b"),
    ("a%2520", "a%20"),
    ("x/a", "a"),
    ("s3://b/a", "a"),
    ("s3://bucket/a%2Bb", "s3://bucket/a+b"),
]
METADATA_IN_PARQUET = {"metaData": {"schemaString": METADATA["metaData"]["schemaString"]}}


def log(table, name):
    return table / "_delta_log" / name


def checkpoint(path, *actions):
    """Write a Parquet checkpoint as Delta does: a column for each kind, one of them set in a row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Arrow makes no column of an empty struct.
    actions = [METADATA_IN_PARQUET if action is METADATA else action for action in actions]
    kinds = sorted({kind for action in actions for kind in action})
    columns = {kind: [action.get(kind) for action in actions] for kind in kinds}
    for entry in filter(None, columns.get("add", [])):
        entry.pop("partitionValues", None)
    pq.write_table(pa.table(columns), path)


def paths(table):
    return [file.path for file in read_snapshot(table).files]


def test_commits_are_replayed_in_order(tmp_path):
    commit(tmp_path, 0, PROTOCOL, METADATA, add("a", 10), add("b", 20))
    commit(tmp_path, 1, remove("a"), add("c"))
    snapshot = read_snapshot(tmp_path)
    assert snapshot.version == 1
    assert snapshot.files == (LiveFile("b", None, 20), LiveFile("c", None, None))


def test_protocol_properties_columns_and_tags(tmp_path):
    commit(tmp_path, 0, {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, METADATA, add("a"))
    snapshot = read_snapshot(tmp_path)
    assert snapshot.protocol == Protocol(1, 2)
    tagged = add("a")
    tagged["add"]["tags"] = {"revision": "1"}
    commit(tmp_path, 1, PROTOCOL, tagged)
    snapshot = read_snapshot(tmp_path)
    features = frozenset({"deletionVectors"})
    assert snapshot.protocol == Protocol(3, 7, features, features)
    assert snapshot.metadata.configuration == {"delta.enableDeletionVectors": "true"}
    assert [field["name"] for field in snapshot.metadata.fields] == ["id"]
    assert snapshot.files == (LiveFile("a", None, None, {"revision": "1"}),)
    # A Parquet file has a map as pairs.
    texts = pa.map_(pa.string(), pa.string())
    log_schema = pa.schema(
        [
            ("protocol", pa.struct([("minReaderVersion", pa.int32())])),
            ("metaData", pa.struct([("schemaString", pa.string())])),
            ("add", pa.struct([("path", pa.string()), ("tags", texts)])),
        ]
    )
    rows = [
        {"protocol": {"minReaderVersion": 1}},
        METADATA_IN_PARQUET,
        {"add": {"path": "a", "tags": {"revision": "1"}}},
    ]
    pq.write_table(pa.Table.from_pylist(rows, log_schema), log(tmp_path, f"{1:020d}.checkpoint.parquet"))
    assert read_snapshot(tmp_path).files == snapshot.files


def test_a_file_is_told_by_its_path_and_its_vector(tmp_path):
    commit(tmp_path, 0, PROTOCOL, METADATA, add("a", 10))
    # Delta may write the new entry before the removal of the old one.
    commit(tmp_path, 1, add("a", 10, ONE), remove("a"))
    assert read_snapshot(tmp_path).files == (LiveFile("a", ONE, 10),)
    commit(tmp_path, 2, add("a", 10, TWO), remove("a", ONE))
    assert read_snapshot(tmp_path).files == (LiveFile("a", TWO, 10),)
    commit(tmp_path, 3, remove("a", TWO))
    assert read_snapshot(tmp_path).files == ()


def test_a_file_removed_and_added_again_in_one_commit_is_live(tmp_path):
    commit(tmp_path, 0, PROTOCOL, METADATA, add("a", 10))
    commit(tmp_path, 1, remove("a"), add("a", 11))
    assert read_snapshot(tmp_path).files == (LiveFile("a", None, 11),)


@pytest.mark.parametrize(("one", "other"), SAME_FILE)
def test_a_file_in_two_spellings_is_one(tmp_path, one, other):
    """Programs spell the same path in several ways."""
    commit(tmp_path, 0, PROTOCOL, METADATA, add(one, 10), add("b"))
    commit(tmp_path, 1, remove(other))
    assert paths(tmp_path) == ["b"]
    commit(tmp_path, 2, add(other, 10), add(one, 11))
    assert paths(tmp_path) == sorted([one, "b"])


@pytest.mark.parametrize(("one", "other"), OTHER_FILE)
def test_files_of_other_names_are_others(tmp_path, one, other):
    commit(tmp_path, 0, PROTOCOL, METADATA, add(one, 10))
    commit(tmp_path, 1, remove(other))
    assert paths(tmp_path) == [one]


def test_delta_tells_files_apart_in_the_same_way(spark, tmp_path):
    """Each pair by a number of its own at the end, so that one table holds them all. Nobody opens its files."""
    pairs = [(f"{one}{at}", f"{other}{at}") for at, (one, other) in enumerate([*SAME_FILE, *OTHER_FILE], 10)]
    commit(tmp_path, 0, PROTOCOL, METADATA, *(add(one, 10) for one, _ in pairs))
    commit(tmp_path, 1, *(remove(other) for _, other in pairs))
    live = {path[-2:] for path in spark.read.format("delta").load(str(tmp_path)).inputFiles()}
    assert live == {path[-2:] for path in paths(tmp_path)} == {one[-2:] for one, _ in pairs[len(SAME_FILE) :]}


def test_a_file_that_is_live_twice(tmp_path):
    commit(tmp_path, 0, PROTOCOL, METADATA, add("a", 10), add("a", 10, ONE))
    with pytest.raises(FormatError, match="a is live with two"):
        read_snapshot(tmp_path)


@pytest.mark.parametrize("commits_kept", [True, False])
def test_a_checkpoint_stands_for_the_commits_before_it(tmp_path, commits_kept):
    if commits_kept:
        commit(tmp_path, 0, PROTOCOL, METADATA, add("a", 10), add("old"))
        commit(tmp_path, 1, remove("a"), remove("old"), add("a", 10, ONE), add("b", 20))
    actions = [PROTOCOL, METADATA, add("a", 10, ONE), add("b", 20), remove("a"), remove("old")]
    checkpoint(log(tmp_path, f"{1:020d}.checkpoint.parquet"), *actions)
    commit(tmp_path, 2, add("c", 30))
    snapshot = read_snapshot(tmp_path)
    assert snapshot.version == 2
    assert snapshot.files == (LiveFile("a", ONE, 10), LiveFile("b", None, 20), LiveFile("c", None, 30))


def test_a_checkpoint_alone_is_a_table(tmp_path):
    checkpoint(log(tmp_path, f"{7:020d}.checkpoint.parquet"), PROTOCOL, METADATA, add("a"))
    assert read_snapshot(tmp_path).version == 7


def test_statistics_as_a_struct(tmp_path):
    entry = add("a")
    entry["add"]["stats_parsed"] = {"numRecords": 12, "nullCount": {"id": 0}}
    both = add("b", 20)
    both["add"]["stats_parsed"] = {"numRecords": None, "nullCount": {"id": None}}
    checkpoint(log(tmp_path, f"{0:020d}.checkpoint.parquet"), PROTOCOL, METADATA, entry, both)
    assert [file.physical_rows for file in read_snapshot(tmp_path).files] == [12, 20]


def part(number, count, version=1):
    return f"{version:020d}.checkpoint.{number:010d}.{count:010d}.parquet"


def test_a_checkpoint_of_many_parts(tmp_path):
    checkpoint(log(tmp_path, part(1, 2)), PROTOCOL, METADATA, add("a", 10))
    checkpoint(log(tmp_path, part(2, 2)), add("b", 10, TWO))
    assert read_snapshot(tmp_path).files == (LiveFile("a", None, 10), LiveFile("b", TWO, 10))


def test_a_checkpoint_that_lacks_a_part_is_none(tmp_path):
    commit(tmp_path, 0, PROTOCOL, METADATA, add("a", 10))
    commit(tmp_path, 1, add("b", 10))
    checkpoint(log(tmp_path, part(2, 2)), add("b", 10))
    assert paths(tmp_path) == ["a", "b"]


@pytest.mark.parametrize(
    "manifest", [f"{1:020d}.checkpoint.{UUID}.json", f"{1:020d}.checkpoint.{UUID}.parquet"]
)
def test_the_second_checkpoint_format(tmp_path, manifest):
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["v2Checkpoint"]}
    actions = [
        {"checkpointMetadata": {"version": 1}},
        {"protocol": protocol},
        METADATA,
        {"sidecar": {"path": "one_two%3A%20three.parquet", "sizeInBytes": 1, "modificationTime": 0}},
        {"sidecar": {"path": f"file://{tmp_path}/far.parquet", "sizeInBytes": 1, "modificationTime": 0}},
    ]
    actions.append({"sidecar": {"path": "gone.parquet", "sizeInBytes": 1, "modificationTime": 0}})
    (write_json if manifest.endswith("json") else checkpoint)(log(tmp_path, manifest), *actions)
    checkpoint(log(tmp_path, "_sidecars/gone.parquet"), remove("e"))
    checkpoint(log(tmp_path, "_sidecars/one_two: three.parquet"), add("a", 10, ONE))
    checkpoint(tmp_path / "far.parquet", add("b", 20), remove("c"))
    commit(tmp_path, 2, add("d"))
    assert paths(tmp_path) == ["a", "b", "d"]
    log(tmp_path, "_sidecars/one_two: three.parquet").unlink()
    with pytest.raises(FormatError, match=r"one_two: three.parquet.*missing"):
        read_snapshot(tmp_path)


@pytest.mark.parametrize("hint", ["{", "{}", '{"version":0,"size":3}', '{"version":99,"size":3}'])
def test_a_stale_or_broken_hint_changes_nothing(tmp_path, hint):
    commit(tmp_path, 0, PROTOCOL, METADATA, add("a", 10))
    checkpoint(log(tmp_path, f"{1:020d}.checkpoint.parquet"), PROTOCOL, METADATA, add("b"))
    log(tmp_path, "_last_checkpoint").write_text(hint)
    log(tmp_path, f"{1:020d}.crc").write_text("{}")
    assert paths(tmp_path) == ["b"]


def test_no_table(tmp_path):
    with pytest.raises(TableNotFoundError, match="nothing"):
        read_snapshot(tmp_path / "nothing")
    log(tmp_path, "x").parent.mkdir()
    with pytest.raises(TableNotFoundError, match="no commit"):
        read_snapshot(tmp_path)
    log(tmp_path, f"{1:020d}.checkpoint.{1:010d}.{2:010d}.parquet").write_text("the first part of two")
    with pytest.raises(TableNotFoundError, match="no commit and no whole checkpoint"):
        read_snapshot(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(TableNotFoundError):
        read_snapshot(tmp_path / "file")


@pytest.mark.parametrize("is_checkpoint", [True, False])
def test_a_version_by_its_time_is_read_once(tmp_path, monkeypatch, is_checkpoint):
    """Of the newest version, which says what times count, no entry of a file is looked at."""
    names = [f"f{number}" for number in range(20)]
    if is_checkpoint:
        checkpoint(
            log(tmp_path, f"{0:020d}.checkpoint.parquet"), PROTOCOL, METADATA, *map(add, names), remove("x")
        )
    else:
        commit(tmp_path, 0, PROTOCOL, METADATA, *map(add, names))
        os.utime(log(tmp_path, f"{0:020d}.json"), (1, 1))
    commit(tmp_path, 1, add("g"), remove("f0"))
    os.utime(log(tmp_path, f"{1:020d}.json"), (2, 2))
    seen, apply = [], Replay.apply

    def counted(replay, action, source):
        seen.extend(action)
        apply(replay, action, source)

    monkeypatch.setattr(Replay, "apply", counted)
    assert [file.path for file in read_snapshot(tmp_path, timestamp=2_000).files] == sorted(["g", *names[1:]])
    assert seen.count("protocol") == seen.count("metaData") == 2
    assert (seen.count("add"), seen.count("remove")) == (21, 1)


def test_what_names_no_version(tmp_path):
    with pytest.raises(InvalidInputError, match="a version or a timestamp, not both"):
        read_snapshot(tmp_path, 0, 1)
    for asked in ({"version": "0"}, {"version": 1.0}, {"timestamp": "x"}, {"timestamp": True}):
        with pytest.raises(InvalidInputError, match="is a whole number, not "):
            read_snapshot(tmp_path, **asked)


def test_numbers_of_numpy_name_a_version(tmp_path):
    commit(tmp_path, 0, PROTOCOL, METADATA)
    version = read_snapshot(tmp_path, np.int64(0)).version
    assert (version, type(version)) == (0, int)


@pytest.mark.parametrize("versions", [(1,), (0, 2)])
def test_a_missing_commit_is_named(tmp_path, versions):
    for version in versions:
        commit(tmp_path, version, PROTOCOL, METADATA)
    missing = min(set(range(3)) - set(versions))
    with pytest.raises(FormatError, match=f"{missing:020d}.json is missing"):
        read_snapshot(tmp_path)


def test_other_file_systems_through_fsspec():
    memory = fsspec.filesystem("memory")
    actions = [PROTOCOL, METADATA, add("a", 10)]
    memory.pipe_file(f"/log/_delta_log/{0:020d}.json", "\n".join(map(json.dumps, actions)).encode())
    assert paths("memory://log") == ["a"]


def column(of):
    return {"name": "a", "type": of, "nullable": True, "metadata": {}}


def of_schema(fields):
    return json.dumps({"metaData": {"schemaString": json.dumps({"type": "struct", "fields": fields})}})


NO_COLUMNS = [
    [5],
    [column("integer") | {"name": 5}],
    [column("integer") | {"name": "\ud800"}],
    [column("integer") | {"metadata": "a"}],
    [column(None)],
    [column({"type": "struct"})],
    [column({"type": "struct", "fields": [{"name": "b"}]})],
    [column({"type": "array", "containsNull": True})],
    [column({"type": "map", "valueType": "integer"})],
    [column({"type": "array", "elementType": {"type": "map", "keyType": "string"}})],
]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ("{", "line 2: not JSON"),
        ("7", "line 2: an object"),
        ("[" * 100_000, "line 2: not JSON"),
        ('{"add":{}}', "add: path"),
        ('{"add":{"path":"\\ud800"}}', "add: path"),
        ('{"remove":[]}', "remove: path"),
        ('{"add":{"path":"a","stats":"{"}}', "add a: stats"),
        ('{"add":{"path":"a","stats":7}}', "add a: stats"),
        ('{"add":{"path":"a","stats":"{\\"numRecords\\":-1}"}}', "add a: stats: numRecords"),
        ('{"add":{"path":"a","deletionVector":"u"}}', "add a: deletionVector"),
        ('{"add":{"path":"a","deletionVector":{"storageType":"x"}}}', "add a: deletionVector: storageType"),
        ('{"protocol":{"minReaderVersion":3,"readerFeatures":"x"}}', "readerFeatures"),
        ('{"metaData":{"schemaString":"{}"}}', "metaData: schemaString"),
        ('{"metaData":{"configuration":7}}', "metaData: configuration"),
        *((of_schema(fields), "schemaString: no list of columns") for fields in NO_COLUMNS),
        (of_schema([column("integer"), column("long") | {"name": "A"}]), "schemaString: two columns"),
        ('{"add":{"path":"a","tags":[7]}}', "add a: tags"),
    ],
)
def test_a_broken_commit_is_refused_with_file_and_field(tmp_path, action, message):
    log(tmp_path, "x").parent.mkdir()
    log(tmp_path, f"{0:020d}.json").write_text(f"{json.dumps(PROTOCOL)}\n{action}\n")
    with pytest.raises(FormatError, match=f"{0:020d}.json.*{message}"):
        read_snapshot(tmp_path)


def test_a_checkpoint_of_a_table_without_files(tmp_path):
    checkpoint(log(tmp_path, f"{0:020d}.checkpoint.parquet"), PROTOCOL, METADATA)
    assert paths(tmp_path) == []


@pytest.mark.parametrize("content", [b"PAR1 and no more", None])
def test_a_broken_checkpoint_is_refused(tmp_path, content):
    path = log(tmp_path, f"{0:020d}.checkpoint.parquet")
    checkpoint(path, {"other": {"path": "a"}})
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FormatError, match=r"checkpoint.parquet: not a"):
        read_snapshot(tmp_path)


@pytest.mark.parametrize("other", [f"checkpoint.{UUID}", f"checkpoint.{1:010d}.{1:010d}"])
def test_an_empty_checkpoint_hides_no_whole_one_of_its_version(tmp_path, other):
    checkpoint(log(tmp_path, f"{1:020d}.{other}.parquet"), PROTOCOL, METADATA, add("a"))
    log(tmp_path, f"{1:020d}.checkpoint.parquet").write_bytes(b"")
    log(tmp_path, f"{1:020d}.checkpoint.{UUID[:-1]}f.parquet").write_bytes(b"")
    assert paths(tmp_path) == ["a"]


@pytest.mark.parametrize("parts", [["checkpoint"], [f"checkpoint.{n:010d}.{2:010d}" for n in (1, 2)]])
def test_a_checkpoint_without_a_byte_is_none(tmp_path, parts):
    """Who wrote it has died, and the commits tell the same. Delta skips it too."""
    commit(tmp_path, 0, PROTOCOL, METADATA)
    commit(tmp_path, 1, add("a"))
    for part in parts:
        path = log(tmp_path, f"{1:020d}.{part}.parquet")
        checkpoint(path, PROTOCOL)
    path.write_bytes(b"")
    assert paths(tmp_path) == ["a"]
    assert readable_versions(tmp_path) == range(2)
    log(tmp_path, f"{0:020d}.json").unlink()
    with pytest.raises(FormatError, match=f"commit {0:020d}.json is missing, and no checkpoint"):
        read_snapshot(tmp_path)


@pytest.mark.parametrize(
    "protocol", [{"minReaderVersion": 4}, {"minReaderVersion": 3, "readerFeatures": ["catalogManaged"]}]
)
def test_a_table_that_needs_more_than_this_reader_knows(tmp_path, protocol):
    commit(tmp_path, 0, {"protocol": protocol}, METADATA)
    with pytest.raises(UnsupportedError, match="reader"):
        read_snapshot(tmp_path)


def test_a_table_whose_newest_commits_a_coordinator_knows(tmp_path):
    """They stand in another folder until it copies them. Versions that the log holds are whole."""
    held = METADATA["metaData"]
    property_ = "delta.coordinatedCommits.commitCoordinator-preview"
    commit(tmp_path, 0, PROTOCOL, {"metaData": {**held, "configuration": {property_: "dynamodb"}}}, add("a"))
    with pytest.raises(UnsupportedError, match=r"coordinator.*; read it with Spark, or give a version"):
        read_snapshot(tmp_path)
    commit(tmp_path, 1, {"metaData": {**held, "configuration": {property_: ""}}})
    assert paths(tmp_path) == ["a"]
    assert read_snapshot(tmp_path, 0).files == read_snapshot(tmp_path).files


def test_storage_that_fails_is_told_with_path_and_cause(tmp_path, monkeypatch):
    commit(tmp_path, 0, PROTOCOL, METADATA, add("a"))
    checkpoint(log(tmp_path, f"{1:020d}.checkpoint.parquet"), PROTOCOL, METADATA, add("a"))
    faults = PythonFaults()
    monkeypatch.setattr(FaultyFiles, "next_call", faults.next)
    for operation, doing in (("list", "listing"), ("open", "reading")):
        faults.fail(operation)
        with pytest.raises(
            StorageError, match=rf"^{doing} {tmp_path}/_delta_log.* failed: OSError: the disk is on fire"
        ):
            read_snapshot(f"faulty:{tmp_path}")
    commit(tmp_path, 2, add("b"))
    faults.fail("open", "json$")
    with pytest.raises(StorageError, match=r"^reading .*0002\.json failed: OSError: the disk is on fire"):
        read_snapshot(f"faulty:{tmp_path}")
    assert read_snapshot(f"faulty:{tmp_path}").version == 2


class OfStoreError(Exception):
    """As clients of object stores raise them: no OSError."""


@pytest.mark.parametrize(
    "error", [OSError, OfStoreError, TimeoutError, ConnectionResetError, PermissionError, ValueError], ids=str
)
def test_storage_that_fails_in_the_middle_of_a_checkpoint_does_not_make_it_broken(
    tmp_path, monkeypatch, error
):
    class Broken(io.BytesIO):
        def read(self, *_):
            raise error("no answer")

    commit(tmp_path, 0, PROTOCOL, METADATA)
    checkpoint(log(tmp_path, f"{1:020d}.checkpoint.parquet"), PROTOCOL, METADATA, add("a"))
    content = log(tmp_path, f"{1:020d}.checkpoint.parquet").read_bytes()
    monkeypatch.setattr(FaultyFiles, "_open", lambda *_, **__: Broken(content))
    with pytest.raises(StorageError, match=rf"^reading .*\.parquet failed: {error.__name__}: no answer"):
        read_snapshot(f"faulty:{tmp_path}")


@pytest.mark.parametrize("error", [PermissionError, OfStoreError], ids=str)
def test_storage_that_fails_while_it_tells_times(tmp_path, monkeypatch, error):
    def modified(*_):
        raise error("no answer")

    commit(tmp_path, 0, PROTOCOL, METADATA)
    monkeypatch.setattr(FaultyFiles, "modified", modified)
    with pytest.raises(
        StorageError, match=rf"^looking when .*0000\.json was written failed: {error.__name__}: no answer"
    ):
        read_snapshot(f"faulty:{tmp_path}", timestamp=1)


@pytest.mark.parametrize(
    ("stats", "rows"),
    [
        ('{"numRecords":5}', 5),
        ('{"numRecords":5,"minValues":{"a":1e-3,"b":"x\\"y"},"nullCount":{}}', 5),
        ('{"minValues":{"numRecords":1},"numRecords":7}', 7),
        ('{"numRecords":8,"maxValues":{"numRecords":1}}', 8),
        ('{ "numRecords" : 9 }', 9),
        ('{"numRecords": 4, "minValues": {"a": -Infinity}, "maxValues": {"a": NaN}}', 4),
        ('{"numRecords":null}', None),
        ("{}", None),
    ],
)
def test_statistics_tell_the_rows_wherever_the_number_stands(tmp_path, stats, rows):
    commit(tmp_path, 0, PROTOCOL, METADATA, {"add": {"path": "a", "stats": stats}})
    assert [file.physical_rows for file in read_snapshot(tmp_path).files] == [rows]


@pytest.mark.parametrize(
    "stats",
    [
        '{"numRecords":5,"numRecords":6}',
        r'{"numRecords":5,"num\u0052ecords":6}',
        '{"numRecords":5.0}',
        '{"numRecords": NaN}',
    ],
)
def test_statistics_that_tell_the_rows_twice_or_oddly_are_refused(tmp_path, stats):
    commit(tmp_path, 0, PROTOCOL, METADATA, {"add": {"path": "a", "stats": stats}})
    with pytest.raises(FormatError, match="add a: stats"):
        read_snapshot(tmp_path)


def test_commits_of_another_store_are_read_at_once(monkeypatch):
    files = fsspec.filesystem("memory")
    for version in range(6):
        actions = [PROTOCOL, METADATA] if version == 0 else []
        text = "\n".join(map(json.dumps, [*actions, add(f"f{version}")]))
        files.pipe(f"/commits/_delta_log/{version:020d}.json", text.encode())
    reads_together(monkeypatch, type(files), "cat_file", "1.json", "2.json")
    assert [file.path for file in read_snapshot("memory://commits").files] == [
        f"f{version}" for version in range(6)
    ]


def test_a_commit_of_a_version_far_away(tmp_path):
    commit(tmp_path, 0, PROTOCOL, METADATA)
    (tmp_path / "_delta_log" / f"{10**20 - 1:020d}.json").write_text("{}\n")
    with pytest.raises(FormatError, match=f"{1:020d}.json is missing"):
        read_snapshot(tmp_path)
    assert read_snapshot(tmp_path, 0).version == 0


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\n\n", " \n\t\n"])
def test_lines_end_in_any_way_that_spark_knows(tmp_path, end):
    path = log(tmp_path, f"{0:020d}.json")
    path.parent.mkdir()
    path.write_bytes((end.join(map(json.dumps, [PROTOCOL, METADATA, add("a", 10)])) + end).encode())
    assert paths(tmp_path) == ["a"]
    path.write_bytes((end.join(map(json.dumps, [PROTOCOL, METADATA])) + end + "{").encode())
    with pytest.raises(FormatError, match=r"line \d: not JSON"):
        read_snapshot(tmp_path)


def test_a_struct_becomes_the_text_that_a_commit_would_hold(tmp_path):
    low = {
        "id": 1,
        "day": dt.date(2024, 1, 2),
        "price": Decimal("1.50"),
        "x": math.nan,
        "in": {"y": None, "z": "ä"},
    }
    entry = add("a")
    entry["add"]["stats_parsed"] = {"numRecords": 12, "minValues": low, "nullCount": {"id": 0}}
    checkpoint(log(tmp_path, f"{0:020d}.checkpoint.parquet"), PROTOCOL, METADATA, entry, add("b", 20))
    told = [json.loads(file.statistics) for file in read_snapshot(tmp_path).files]
    known = {"id": 1, "day": "2024-01-02", "price": "1.50", "in": {"z": "ä"}}
    assert told == [
        {"numRecords": 12, "minValues": known, "nullCount": {"id": 0}},
        {"numRecords": 20, "tightBounds": True},
    ]


def test_of_a_checkpoint_only_the_bounds_that_python_does_not_know_are_left_out(tmp_path):
    """Statistics as structs: days and times outside of the years 1 to 9999, and bytes that are no text."""
    far = pa.array([400_000_000, 19_000, None], pa.int32()).view(pa.date32())
    moments = pa.array([-(2**62), 2, None], pa.int64()).view(pa.timestamp("us"))
    texts = pa.array([b"\xff", b"b", None]).view(pa.string())
    inner = pa.StructArray.from_arrays([texts], ["text"], mask=pa.array([False, False, True]))
    ids = pa.array([5, 6, 7])
    highest = pa.StructArray.from_arrays([far, moments, inner, ids], ["day", "at", "in", "id"])
    nulls = pa.StructArray.from_arrays([pa.array([1, 2, 3])], ["day"])
    parsed = pa.StructArray.from_arrays(
        [pa.array([7, 8, 9]), highest, nulls], ["numRecords", "maxValues", "nullCount"]
    )
    adds = pa.StructArray.from_arrays([pa.array(["a", "b", "c"]), parsed], ["path", "stats_parsed"])
    columns = {
        "protocol": [PROTOCOL["protocol"], *[None] * 4],
        "metaData": [None, METADATA_IN_PARQUET["metaData"], *[None] * 3],
        "add": pa.concat_arrays([pa.nulls(2, adds.type), adds]),
    }
    path = log(tmp_path, f"{0:020d}.checkpoint.parquet")
    path.parent.mkdir()
    pq.write_table(pa.table(columns), path)
    told = [json.loads(file.statistics) for file in read_snapshot(tmp_path).files]
    assert [each["numRecords"] for each in told] == [7, 8, 9]
    assert [each["nullCount"] for each in told] == [{"day": 1}, {"day": 2}, {"day": 3}]
    assert [each["maxValues"] for each in told] == [
        {"in": {}, "id": 5},
        {"day": "2022-01-08", "at": "1970-01-01T00:00:00.000002", "in": {"text": "b"}, "id": 6},
        {"id": 7},
    ]
