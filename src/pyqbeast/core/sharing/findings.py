"""Whether other readers get a table right: its log, compared with what `readers` says about them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyqbeast.core.format.constants import STAGING_REVISION
from pyqbeast.core.format.file_tags import FileTags, has_copies, indexed_files
from pyqbeast.core.format.hashed_layout import name_in_files
from pyqbeast.core.format.names import is_reserved
from pyqbeast.core.once import once
from pyqbeast.core.otree.invariants import check_tree
from pyqbeast.core.otree.status import IndexStatus
from pyqbeast.core.problems import GAP, Problem
from pyqbeast.core.revisions.damage import check_revisions
from pyqbeast.core.revisions.revision import RevisionSet
from pyqbeast.core.sharing.readers import READERS, VERSION_2, Concern, ReaderVerdict, Way
from pyqbeast.core.sharing.remedies import MAPPING, PROTECTION, VECTORS_FEATURE, Command, Remedies
from pyqbeast.core.visible import counted

#: Types of Delta that the Scala project does not index, and the one that keeps the values and their order.
_UNKNOWN_TYPES = {"boolean": "int", "byte": "int", "short": "int"}
#: Names that qbeast-spark, which puts them into expressions as they are, can index. Spark takes `1d` and `true` for
#: constants, and refuses letters beyond ASCII.
_PLAIN_NAME = re.compile(r"(?ai)(?!(?:null|true|false)\Z)[a-z_]\w*")
#: Characters that a column's name may have only under column mapping.
_NOT_IN_PARQUET = set(" ,;{}()\n\t=")
#: The reader features behind some concerns. A reader that lacks the feature refuses the table, so it gets
#: nothing else wrong.
_FEATURE_OF = {
    Concern.column_mapping: MAPPING,
    Concern.vectors: VECTORS_FEATURE,
    Concern.deleted_rows: VECTORS_FEATURE,
}


@dataclass(frozen=True)
class Finding:
    """What a reader gets wrong, and the commands that mend it.

    `way` is empty if the reader has only one way to read.
    """

    way: str
    outcome: ReaderVerdict
    text: str
    commands: tuple[Command, ...]


@dataclass(frozen=True)
class SharedFile:
    """A live file: what its tags say, whether they were written before format 0.6, and how many rows a deletion
    vector hides.
    """

    tags: FileTags
    is_legacy: bool
    deleted: int


@dataclass(frozen=True)
class SharedTable:
    """What the log of a table says.

    Attributes:
        path: where it lies.
        reader_version, writer_version: of Delta's protocol.
        reader_features: what a reader has to know.
        writer_features: what a writer has to know.
        fields: the columns, as Delta's schema has them in JSON.
        mapping: how its files name them: `none`, `name` or `id`.
        revisions: how it is indexed.
        files: its live files.
    """

    path: str
    reader_version: int
    writer_version: int
    reader_features: frozenset[str]
    writer_features: frozenset[str]
    fields: Sequence[Mapping[str, Any]]
    mapping: str
    revisions: RevisionSet
    files: Sequence[SharedFile]

    @property
    @once
    def concerns(self) -> dict[Concern, tuple[str, list[Command]]]:
        """What some readers get wrong: for each concern a text that says it, and the commands that mend it."""
        return {concern: (text, commands) for concern, text, commands in _Look(self).concerns()}


def findings(table: SharedTable, reader: str) -> list[Finding]:
    """What a reader, by its name in `READERS`, gets wrong in a table."""
    return [finding for way in READERS[reader].ways for finding in _of_way(table, way)]


def in_order(findings_of_table: Iterable[Finding]) -> list[str]:
    """The commands of all findings, each once, in the order that they have to run in."""
    return [
        command.text
        for command in sorted({each for finding in findings_of_table for each in finding.commands})
    ]


def _of_way(table: SharedTable, way: Way) -> Iterator[Finding]:
    remedies = Remedies(table.path)
    needed = {VERSION_2} if table.reader_version == 2 else table.reader_features
    refused = needed - way.features
    if refused:
        commands = [command for feature in sorted(refused) for command in _without(table, feature)]
        text = f"the table needs {', '.join(sorted(refused))}, which is not known there: it is refused"
        yield Finding(way.name, ReaderVerdict.fails, text, tuple(commands))
    # Dropping a feature adds `checkpointProtection` to the table, and an old writer does not know that feature.
    behind = remedies.drop(PROTECTION) if way.writer_features is not None else []
    for concern, (text, commands) in table.concerns.items():
        effect = way.effects.get(concern)
        if effect is not None and _FEATURE_OF.get(concern) not in refused:
            dropped = behind if any(command.drops for command in commands) else []
            yield Finding(way.name, effect.outcome, f"{text}: {effect.text}", (*commands, *dropped))
    if way.writer_features is not None:
        unknown = table.writer_features - table.reader_features - way.writer_features - way.features
        if unknown:
            text = f"writers need {', '.join(sorted(unknown))}, which is not known there: appends and optimize fail"
            drops = [command for feature in sorted(unknown) for command in remedies.drop(feature)]
            yield Finding(way.name, ReaderVerdict.fails, text, tuple(drops))


def _without(table: SharedTable, feature: str) -> list[Command]:
    """The commands that end the use of a feature and then remove it."""
    if feature == VERSION_2:
        feature = MAPPING
    used = table.concerns.get(Concern.deleted_rows) if feature == VECTORS_FEATURE else None
    return [*(used[1] if used else []), *Remedies(table.path).drop(feature)]


class _Look:
    """Looks for concerns in a table's log."""

    def __init__(self, table: SharedTable) -> None:
        self.table = table
        self.remedies = Remedies(table.path)
        self.types: dict[str, Any] = {field["name"]: field["type"] for field in table.fields}
        self.latest = table.revisions.revisions.get(table.revisions.last_id)
        self.indexed = self.latest.columns if self.latest else []

    def concerns(self) -> Iterator[tuple[Concern, str, list[Command]]]:
        """Each concern that the table gives, with a text and the commands that mend it."""
        yield from self._of_revisions()
        yield from self._of_files()
        yield from self._of_vectors()
        yield from self._of_mapping()
        yield from self._of_trees()
        yield from self._of_columns()
        # Versions before 7 name no features: this one stands for it.
        if self.table.writer_version == 6:
            yield Concern.identity_columns, "writers have to know identity columns", self._anew()

    def _of_revisions(self) -> Iterator[tuple[Concern, str, list[Command]]]:
        problems = check_revisions(self.table.revisions)
        if problems:
            text = f"the index cannot be read as a whole ({problems[0].text})"
            yield Concern.damaged_index, text, [self.remedies.repair()]

    def _of_files(self) -> Iterator[tuple[Concern, str, list[Command]]]:
        copied = [file for file in self.table.files if has_copies(file.tags.blocks)]
        upgrade = self.remedies.upgrade(drop_replicated=bool(copied))
        legacy = sum(file.is_legacy for file in self.table.files)
        if legacy:
            yield Concern.old_format, f"{counted(legacy, 'file')} from before format 0.6", [upgrade]
        if copied:
            text = f"{counted(len(copied), 'file')} of rows that other files hold too"
            revisions = sorted({file.tags.revision_id for file in copied})
            yield Concern.replicated, text, [upgrade, *self.remedies.optimize(revisions)]
        first = self.table.revisions.revisions.get(STAGING_REVISION)
        unindexed = sum(file.tags.revision_id == STAGING_REVISION for file in self.table.files)
        if first is not None and not first.transformations and unindexed:
            text = f"{counted(unindexed, 'file')} without an index in a table that was created empty"
            yield Concern.created_empty, text, self.remedies.optimize([STAGING_REVISION])

    def _of_vectors(self) -> Iterator[tuple[Concern, str, list[Command]]]:
        marked = [file for file in self.table.files if file.deleted]
        rows = sum(file.deleted for file in marked)
        purge = [
            self.remedies.no_more_vectors(),
            *self.remedies.optimize(sorted({file.tags.revision_id for file in marked})),
        ]
        if marked:
            text = f"deletion vectors hide {counted(rows, 'row')} of {counted(len(marked), 'file')}"
            yield Concern.deleted_rows, text, purge
        if VECTORS_FEATURE in self.table.reader_features:
            yield (
                Concern.vectors,
                "the table may take deletion vectors",
                [*purge, *self.remedies.drop(VECTORS_FEATURE)],
            )

    def _of_trees(self) -> Iterator[tuple[Concern, str, list[Command]]]:
        problems: dict[Concern, dict[int, list[Problem]]] = {Concern.gaps: {}, Concern.kept_rows: {}}
        revisions = self.table.revisions.revisions
        for number, files in indexed_files(self.table.files).items():
            if number not in revisions:
                continue
            blocks = [block for file in files for block in file.tags.blocks]
            copied = {block.cube for block in blocks if block.replicated}
            for problem in check_tree(number, IndexStatus.from_blocks(revisions[number], blocks), copied):
                concern = Concern.gaps if problem.rule == GAP else Concern.kept_rows
                problems[concern].setdefault(number, []).append(problem)
        texts = {
            Concern.gaps: "have no parent",
            Concern.kept_rows: "hold rows lighter than what an ancestor keeps",
        }
        for concern, found in problems.items():
            if found:
                cubes = counted(sum(map(len, found.values())), "cube")
                yield concern, f"{cubes} of the index {texts[concern]}", self.remedies.optimize(sorted(found))

    def _of_mapping(self) -> Iterator[tuple[Concern, str, list[Command]]]:
        mapped = [field["name"] for field in self.table.fields if _is_mapped(field, self.table.mapping)]
        if mapped:
            # Delta cannot take the mapping from a table with a name that Parquet does not have.
            bound = any(_NOT_IN_PARQUET & set(field["name"]) for field in self.table.fields)
            commands = self._anew() if bound else self.remedies.drop(MAPPING)
            yield Concern.column_mapping, f"{_some(mapped)} bear other names in the files", commands

    def _of_columns(self) -> Iterator[tuple[Concern, str, list[Command]]]:
        revisions = self.table.revisions.revisions
        if any(revision.weight_columns for revision in revisions.values()):
            yield Concern.weight_columns, "rows are weighed by columns that are not indexed", self._anew()
        types = [f"{name} ({self.types.get(name)})" for name in self._casts()]
        if types:
            yield Concern.column_types, f"the table is indexed by {_some(types)}", self._anew()
        names = [name for name in self.indexed if not _PLAIN_NAME.fullmatch(name)]
        if names:
            yield Concern.column_names, f"the table is indexed by {_some(names)}", self._anew()
        reserved = [name for name in self.types if is_reserved(name)]
        if reserved:
            yield Concern.reserved_names, f"the table has the columns {_some(reserved)}", self._anew()

    def _casts(self) -> dict[str, str]:
        """Indexed columns of a type that the Scala project does not take, and the type to give them."""
        unknown = {name: _UNKNOWN_TYPES.get(str(self.types.get(name))) for name in self.indexed}
        unknown |= {
            each.column: "double"
            for each in (self.latest.transformers if self.latest else ())
            if each.data_type in each.not_shared
        }
        return {name: to for name, to in unknown.items() if to}

    def _anew(self) -> list[Command]:
        if self.latest is None:
            return []
        names = [name for name in self.types if name in self.indexed or _NOT_IN_PARQUET & set(name)]
        odd = [name for name in names if not _PLAIN_NAME.fullmatch(name)]
        odd += [name for name in self.types if is_reserved(name)]
        return [self.remedies.write_anew(self.latest, self._casts(), _plain_names(odd, self.types))]


def _plain_names(odd: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """For each of some names a plain one, which no other column has or gets."""
    used = {name.lower() for name in taken}
    plain: dict[str, str] = {}
    for name in odd:
        stem = re.sub(r"(?a)\W", "_", name)
        stem = stem if _PLAIN_NAME.fullmatch(stem) else f"_{stem}"
        numbered = (f"{stem}_{number}" for number in itertools.count(2))
        plain[name] = next(each for each in itertools.chain([stem], numbered) if each.lower() not in used)
        used.add(plain[name].lower())
    return plain


def _is_mapped(field: Mapping[str, Any], mapping: str) -> bool:
    """Whether a column, or a field inside it, has another name in the data files."""
    name = field["name"]
    has_other = name_in_files(name, field.get("metadata"), mapping) != name
    return has_other or any(_is_mapped(inside, mapping) for inside in _fields_of(field["type"]))


def _fields_of(data_type: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 (a type in JSON: a name or an object)
    if isinstance(data_type, dict):
        yield from data_type.get("fields", [])
        for inner in ("elementType", "keyType", "valueType"):
            yield from _fields_of(data_type.get(inner))


def _some(names: Sequence[str]) -> str:
    """Up to three names."""
    shown = ", ".join(map(repr, names[:3]))
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
