"""Logs in every form that the protocol allows, and in some that it does not: one answer, or an error with a name."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pyqbeast
from pyqbeast.core.errors import FormatError, InvalidInputError, UnsupportedError
from pyqbeast.delta import DeletionVector
from pyqbeast.delta_log import history, log_files, reader
from pyqbeast.delta_log.history import read_history
from pyqbeast.delta_log.indexed_snapshot import IndexedSnapshot
from pyqbeast.delta_log.log_files import find_log_files
from pyqbeast.delta_log.reader import read_snapshot
from tests.deletion_vectors.tables import METADATA, PROTOCOL, add, commit, remove, write_json
from tests.faulty_files import FaultyFiles
from tests.scanning.tables import fields_of, indexed_add, metadata
from tests.tiledb.server import serve

UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"
TEXTS = pa.map_(pa.string(), pa.string())
VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
ADD = [
    ("path", pa.string()),
    ("partitionValues", TEXTS),
    ("size", pa.int64()),
    ("modificationTime", pa.int64()),
    ("dataChange", pa.bool_()),
    ("stats", pa.string()),
    ("tags", TEXTS),
    ("deletionVector", VECTOR),
]
REMOVE = [("path", pa.string()), ("deletionTimestamp", pa.int64()), ("deletionVector", VECTOR)]
#: A checkpoint as Delta writes it: a column for each kind of action, whether it has rows or not.
CHECKPOINT = pa.schema(
    [
        ("txn", pa.struct([("appId", pa.string()), ("version", pa.int64())])),
        ("add", pa.struct(ADD)),
        ("remove", pa.struct(REMOVE)),
        (
            "metaData",
            pa.struct(
                [
                    ("schemaString", pa.string()),
                    ("partitionColumns", pa.list_(pa.string())),
                    ("configuration", TEXTS),
                ]
            ),
        ),
        (
            "protocol",
            pa.struct(
                [
                    ("minReaderVersion", pa.int32()),
                    ("minWriterVersion", pa.int32()),
                    ("readerFeatures", pa.list_(pa.string())),
                    ("writerFeatures", pa.list_(pa.string())),
                ]
            ),
        ),
        ("sidecar", pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64())])),
    ]
)
FEATURES = ["deletionVectors", "v2Checkpoint"]
SECOND = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": FEATURES,
        "writerFeatures": FEATURES,
    }
}


def name(version, kind=""):
    return f"{version:020d}{kind}"


def checkpoint(path, *actions, schema=CHECKPOINT):
    """A checkpoint in Parquet; maps of texts are lists of pairs there."""

    def pairs(value):
        return [*value.items()] if isinstance(value, dict) else value

    rows = []
    for action in actions:
        ((kind, entry),) = action.items()
        maps = {"tags", "configuration", "partitionValues"} & set(entry)
        rows.append({kind: entry | {each: pairs(entry[each]) for each in maps}})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema), path)


class Made:
    """A table of five versions in commits, and what its log tells."""

    def __init__(self, path):
        self.path = path
        self.log = path / "_delta_log"
        rows = [pa.table({"id": pa.array(range(10 * n, 10 * n + 10), pa.int64())}) for n in range(5)]
        self.metadata = metadata(fields_of(rows[0].schema))
        self.adds = [indexed_add(path / f"part-{n}.parquet", part) for n, part in enumerate(rows)]
        vector = DeletionVector([1, 2]).to_inline()
        self.deleted = indexed_add(path / "part-0.parquet", rows[0], vector=vector)
        self.commits = [
            [SECOND, self.metadata, self.adds[0]],
            [self.adds[1]],
            [self.adds[2], remove("part-1.parquet")],
            [self.deleted, remove("part-0.parquet")],
            [self.adds[3], self.adds[4]],
        ]
        for version, actions in enumerate(self.commits):
            commit(path, version, *actions)

    def state(self, version):
        """The actions of a checkpoint."""
        live = {}
        for actions in self.commits[: version + 1]:
            for action in actions:
                if "remove" in action:
                    live.pop(action["remove"]["path"], None)
            for action in actions:
                if "add" in action:
                    live[action["add"]["path"]] = action
        gone = [remove("part-1.parquet")] if version >= 2 else []
        return [SECOND, self.metadata, *live.values(), *gone]

    def forget(self, *versions):
        for version in versions:
            (self.log / name(version, ".json")).unlink()

    def classic(self, version):
        checkpoint(self.log / name(version, ".checkpoint.parquet"), *self.state(version))

    def parts(self, version, numbers=(1, 2, 3), count=3):
        for number in numbers:
            of_part = self.state(version)[number - 1 :: count]
            checkpoint(self.log / name(version, f".checkpoint.{number:010d}.{count:010d}.parquet"), *of_part)

    def second(self, version, kind="json"):
        """With two sidecars, the second of which has no rows of its own in front of it."""
        protocol, of_table, *files = self.state(version)
        manifest = [{"checkpointMetadata": {"version": version}}, protocol, of_table]
        for number in range(2):
            sidecar = f"{version}-{number}.parquet"
            checkpoint(self.log / "_sidecars" / sidecar, *files[number::2])
            manifest.append({"sidecar": {"path": sidecar, "sizeInBytes": 1, "modificationTime": 0}})
        path = self.log / name(version, f".checkpoint.{UUID}.{kind}")
        if kind == "json":
            write_json(path, *manifest)
        else:
            checkpoint(path, *(each for each in manifest if "checkpointMetadata" not in each))

    def compacted(self, first, last):
        actions = [action for actions in self.commits[first : last + 1] for action in actions]
        write_json(self.log / f"{first:020d}.{last:020d}.compacted.json", *actions)


@pytest.fixture
def made(tmp_path):
    return Made(tmp_path / "table")


def ids(made, version=None):
    return sorted(pyqbeast.scan(made.path, version).to_arrow()["id"].to_pylist())


NEWEST = [0, *range(3, 10), *range(20, 50)]
FORMS = {
    "commits": lambda made: None,
    "classic": lambda made: (made.classic(2), made.forget(0, 1)),
    "classic, commits partly deleted": lambda made: (made.classic(3), made.forget(1, 3)),
    "no commit left": lambda made: (made.classic(4), made.forget(0, 1, 2, 3, 4)),
    "parts": lambda made: (made.parts(3), made.forget(0, 1, 2)),
    "a part is missing": lambda made: (made.classic(1), made.parts(3, (1, 3)), made.forget(0, 1)),
    "two writers of parts": lambda made: (made.parts(3, (1, 2), 3), made.parts(3, (1, 2), 2), made.forget(0)),
    "second, JSON": lambda made: (made.second(3), made.forget(0, 1, 2)),
    "second, Parquet": lambda made: (made.second(3, "parquet"), made.forget(0, 1, 2)),
    "both formats": lambda made: (made.second(3), made.classic(3), made.forget(0)),
    "compacted": lambda made: made.compacted(1, 3),
    "compacted across a checkpoint": lambda made: (made.compacted(1, 3), made.second(2), made.forget(0, 1)),
    "compacted and false": lambda made: write_json(
        made.log / f"{1:020d}.{4:020d}.compacted.json", remove("part-4.parquet")
    ),
    "hint: absent file": lambda made: (made.log / "_last_checkpoint").write_text('{"version":17,"size":9}'),
    "hint: nonsense": lambda made: (made.log / "_last_checkpoint").write_bytes(b"\x00\xff"),
    "hint: a folder": lambda made: (made.log / "_last_checkpoint").mkdir(),
    "others' files": lambda made: [
        (made.log / each).write_text("nothing to read")
        for each in (
            name(9, ".json.tmp"),
            f".{name(9)}.json.crc",
            name(9, ".crc"),
            name(9, ".checkpoint.json"),
            name(9, ".checkpoint.parquet.tmp"),
            name(9, f".checkpoint.{1:010d}.{1:010d}.json"),
            f"{9:019d}.json.bak",
        )
    ],
    "a part beyond the last": lambda made: (made.classic(1), made.parts(3, (1, 2, 4), 3)),
    "a name that is no UUID": lambda made: (
        made.second(3),
        (made.log / name(3, f".checkpoint.{UUID}.json")).rename(made.log / name(3, ".checkpoint.abc_7.json")),
        made.forget(0, 1),
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_log_tells_the_same(made, form):
    FORMS[form](made)
    assert ids(made) == NEWEST
    scan = pyqbeast.scan(made.path)
    assert scan.version == 4
    assert [file.path for file in scan.where("id > 35").files() if file.skipped is None] == [
        "part-3.parquet",
        "part-4.parquet",
    ]
    assert scan.verify().problems == ()


def test_versions_that_the_log_still_tells(made):
    made.second(2)
    made.forget(0)
    assert ids(made, 2) == [*range(10), *range(20, 30)]
    assert ids(made, 3) == [0, *range(3, 10), *range(20, 30)]
    for version in (0, 1, 5, -1):
        with pytest.raises(InvalidInputError, match=f"version {version} of the table"):
            pyqbeast.scan(made.path, version)


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_a_sidecar_that_is_gone_is_named(made, kind):
    made.second(4, kind)
    (made.log / "_sidecars" / "4-1.parquet").unlink()
    with pytest.raises(
        FormatError, match=r"_sidecars/4-1.parquet: the log names this file, and it is missing"
    ):
        pyqbeast.scan(made.path)


def test_a_gap_after_the_checkpoint_is_named(made):
    made.classic(1)
    made.compacted(2, 3)
    made.forget(0, 1, 3)
    with pytest.raises(FormatError, match=f"{3:020d}.json is missing"):
        pyqbeast.scan(made.path)


def without(struct, *names):
    return pa.struct([field for field in struct if field.name not in names])


def changed(**columns):
    return pa.schema([(each.name, columns.get(each.name, each.type)) for each in CHECKPOINT])


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (changed(add=without(CHECKPOINT.field("add").type, "path")), "column add"),
        (changed(add=pa.struct([("Path", pa.string())])), "column add"),
        (changed(add=pa.string()), "column add"),
        (changed(remove=pa.struct([("file", pa.string())])), "column remove"),
        (changed(metaData=pa.struct([("name", pa.string())])), "metaData"),
        (changed(protocol=pa.struct([("name", pa.string())])), "protocol"),
        (pa.schema([each for each in CHECKPOINT if each.name != "metaData"]), "metaData"),
        (pa.schema([each for each in CHECKPOINT if each.name != "protocol"]), "protocol"),
    ],
)
def test_a_checkpoint_that_lacks_what_it_has_to_tell(made, schema, told):
    """Nothing of it may count as said: an empty table, or no features that a reader has to know."""
    rows = []
    for action in made.state(4):
        ((kind, entry),) = action.items()
        if kind in schema.names and pa.types.is_struct(schema.field(kind).type):
            known = {field.name for field in schema.field(kind).type}
            rows.append({kind: {k: v for k, v in entry.items() if k in known} or {next(iter(known)): "x"}})
            for each in {"tags", "configuration", "partitionValues"} & set(rows[-1][kind]):
                rows[-1][kind][each] = [*rows[-1][kind][each].items()]
        elif kind in schema.names:
            rows.append({kind: "x"})
    pq.write_table(pa.Table.from_pylist(rows, schema), made.log / name(4, ".checkpoint.parquet"))
    made.forget(0, 1, 2, 3, 4)
    with pytest.raises((FormatError, UnsupportedError), match=told):
        pyqbeast.scan(made.path)


def test_a_sidecar_of_another_store(made):
    """A file of the log's own store that has the same path is not read in its place."""
    made.second(4)
    manifest, there = made.log / name(4, f".checkpoint.{UUID}.json"), f"{made.log}/_sidecars/4-0.parquet"
    manifest.write_text(manifest.read_text().replace('"4-0.parquet"', f'"memory://{there}"'))
    with pytest.raises(FormatError, match=r"sidecar: memory://.*/4-0.parquet lies in another store"):
        pyqbeast.scan(made.path)


def test_a_sidecar_of_another_server_gets_no_credentials(made):
    """Its file system would be the log's if it got them."""
    made.second(4)
    manifest = made.log / name(4, f".checkpoint.{UUID}.json")
    with serve(made.path) as near, serve(made.path) as other:
        there = f"{other.url}/_delta_log/_sidecars/4-0.parquet"
        manifest.write_text(manifest.read_text().replace('"4-0.parquet"', f'"{there}"'))
        with pytest.raises(FormatError, match=r"sidecar: http://.*/4-0.parquet lies in another store"):
            pyqbeast.scan(near.url, storage_options={"headers": {"Authorization": "Bearer sEcReT"}})
        assert other.keys == set()


@pytest.mark.parametrize("older", ["commits", "checkpoint"])
@pytest.mark.parametrize("kind", ["classic", "parts", "json", "parquet", "sidecar", "lost sidecar"])
def test_a_damaged_checkpoint_is_refused_with_the_way_out_where_there_is_one(made, kind, older):
    """Spark reads no table of its own with such damage either."""
    if older == "checkpoint":
        made.classic(1)
        made.forget(0, 1)
    {"classic": made.classic, "parts": made.parts}.get(kind, made.second)(
        *([3, "parquet"] if kind == "parquet" else [3])
    )
    for commit_file in made.log.glob("0*[0-9].json"):
        os.utime(commit_file, (4, 4) if commit_file.name == name(4, ".json") else (1, 1))
    damaged = made.log / "_sidecars" / "3-1.parquet" if "sidecar" in kind else max(made.log.glob("*3.check*"))
    damaged.write_bytes(damaged.read_bytes()[:100])
    if kind == "lost sidecar":
        damaged.unlink()
    told = (
        rf"{damaged}.*; the log tells the same without this checkpoint: move (.*) away, and the table can be"
    )
    with pytest.raises(FormatError, match=told) as refused:
        read_snapshot(made.path)
    with pytest.raises(FormatError, match=told):
        read_snapshot(made.path, timestamp=4_000)
    shutil.copytree(made.path, made.path.parent / "less")
    less = made.path.parent / "less"
    (less / "_delta_log" / name(2, ".json")).unlink()
    with pytest.raises(FormatError) as without:
        read_snapshot(less)
    assert "move" not in str(without.value)
    Path(re.search(told, str(refused.value))[1]).unlink()
    assert ids(made) == NEWEST


def test_a_sidecar_in_a_sidecar(made):
    made.second(4)
    inner = {"sidecar": {"path": "4-1.parquet", "sizeInBytes": 1}}
    checkpoint(made.log / "_sidecars" / "4-0.parquet", inner)
    with pytest.raises(FormatError, match=r"4-0.parquet.*sidecar"):
        pyqbeast.scan(made.path)


def test_columns_that_others_have_added(made):
    protocol, of_table, *files = made.state(4)
    parsed = ("stats_parsed", pa.struct([("numRecords", pa.int64())]))
    extra = pa.schema(
        [
            *(each for each in CHECKPOINT if each.name not in ("add", "txn")),
            ("add", pa.struct([("extra", pa.list_(pa.int8())), *reversed(ADD), parsed])),
            ("domainMetadata", pa.struct([("domain", pa.string())])),
            ("somethingElse", pa.int64()),
        ]
    )
    checkpoint(made.log / name(4, ".checkpoint.parquet"), protocol, of_table, *files, schema=extra)
    made.forget(0, 1, 2, 3, 4)
    assert ids(made) == NEWEST


@pytest.mark.parametrize("lacks", ["protocol", "metaData"])
def test_a_log_without_what_every_table_has(tmp_path, lacks):
    commit(tmp_path, 0, *(each for each in (PROTOCOL, METADATA, add("a")) if lacks not in each))
    with pytest.raises(FormatError, match=f"_delta_log.*{lacks}"):
        pyqbeast.scan(tmp_path)
    (tmp_path / "_delta_log" / name(0, ".json")).write_text("")
    with pytest.raises(FormatError, match="protocol"):
        pyqbeast.scan(tmp_path)


@pytest.mark.parametrize("is_checkpoint", [False, True])
def test_a_feature_that_nobody_knows_is_named_where_its_actions_cannot_be_read(tmp_path, is_checkpoint):
    """The log is not broken, whatever the feature has written there; without one it is."""
    vector = {
        "storageType": "r",
        "pathOrInlineDv": "abc.bin",
        "offset": 1,
        "sizeInBytes": 3,
        "cardinality": 1,
    }
    odd = {"add": {"path": "a", "deletionVector": vector}}
    needed = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["later"], "writerFeatures": []}
    name = (
        f"{0:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
        if is_checkpoint
        else f"{0:020d}.json"
    )
    for protocol, error, told in (
        ({"protocol": needed}, UnsupportedError, "version 0: the table needs the reader feature later"),
        (PROTOCOL, FormatError, "storageType"),
    ):
        write_json(tmp_path / "_delta_log" / name, METADATA, odd, protocol)
        with pytest.raises(error, match=told):
            read_snapshot(tmp_path)


def test_a_feature_that_was_dropped_again(made):
    """Only what the version itself needs has to be known."""
    unknown = json.loads(json.dumps(SECOND))
    unknown["protocol"]["readerFeatures"].append("fromTheFuture")
    commit(made.path, 5, unknown)
    with pytest.raises(UnsupportedError, match="fromTheFuture"):
        pyqbeast.scan(made.path)
    assert ids(made, 4) == NEWEST
    commit(made.path, 6, SECOND)
    assert ids(made) == NEWEST
    with pytest.raises(UnsupportedError, match="fromTheFuture"):
        pyqbeast.scan(made.path, 5)
    shutil.copytree(made.path, made.path.parent / "moved")
    assert sorted(pyqbeast.scan(made.path.parent / "moved").to_arrow()["id"].to_pylist()) == NEWEST


def test_commits_that_are_cleaned_up_while_the_log_is_read(tmp_path, monkeypatch):
    """Another process makes a checkpoint and removes the commits before it, once they have been listed."""
    rows = pa.table({"id": [1, 2]})
    added = [indexed_add(tmp_path / f"{number}.parquet", rows) for number in range(3)]
    table = metadata(fields_of(rows.schema))
    commit(tmp_path, 0, PROTOCOL, table, added[0])
    commit(tmp_path, 1, added[1])
    commit(tmp_path, 2, added[2])
    index = IndexedSnapshot.read(tmp_path)

    def clean_up(*versions):
        last = max(versions)
        state = (PROTOCOL, table, *added[: last + 1])
        write_json(tmp_path / "_delta_log" / f"{last:020d}.checkpoint.{UUID}.json", *state)
        for version in versions:
            (tmp_path / "_delta_log" / name(version, ".json")).unlink(missing_ok=True)

    def racing(*versions):
        @contextlib.contextmanager
        def listed(*arguments, **how):
            with find_log_files(*arguments, **how) as found:
                clean_up(*versions)
                yield found

        return listed

    monkeypatch.setattr(reader, "find_log_files", racing(0))
    assert IndexedSnapshot.read(tmp_path).snapshot == index.snapshot
    monkeypatch.setattr(history, "find_log_files", racing(0, 1))
    assert [each.version for each in read_history(index)] == [1, 2]


@pytest.mark.parametrize("scheme", ["file", FaultyFiles.protocol])
def test_a_version_is_found_by_its_time_while_commits_are_cleaned_up(made, monkeypatch, scheme):
    """Each time that the log has been listed, the oldest commit that the listing names is gone."""
    made.second(3)
    for version in range(5):
        os.utime(made.log / name(version, ".json"), (1_000 * version, 1_000 * version))
    listing = log_files._listing

    def racing(*arguments):
        found = listing(*arguments)
        if min(found[1]) < 3:
            made.forget(min(found[1]))
        return found

    monkeypatch.setattr(log_files, "_listing", racing)
    assert read_snapshot(f"{scheme}://{made.path}", timestamp=4_000_000).version == 4
    assert read_snapshot(f"{scheme}://{made.path}", timestamp=3_000_000).version == 3
    assert sorted(each.name for each in made.log.glob("*.json"))[:2] == [
        name(3, f".checkpoint.{UUID}.json"),
        name(3, ".json"),
    ]
    with pytest.raises(InvalidInputError, match="no commit of that time or before"):
        read_snapshot(f"{scheme}://{made.path}", timestamp=2_999_999)
