"""What `repair` does about each problem that `verify` finds, decided from what was seen and without Spark.

A file whose tags lie loses them: its rows stay right for everybody, and `optimize` indexes them again. Where the truth
is known it takes the place of what was there. No row is ever taken out or brought back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from pyqbeast.core.format.constants import (
    TAG_BLOCKS,
    TAG_KEY_ROWS,
    TAG_MAX_ROW_WEIGHT,
    TAG_PARTS,
    TAG_REVISION,
    TAG_WEIGHTS,
)
from pyqbeast.core.format.file_tags import (
    INDEX_TAGS,
    are_legacy,
    blocks_to_json,
    has_copies,
    indexed_files,
    is_copy,
    of_any_revision,
)
from pyqbeast.core.otree.gaps import closing
from pyqbeast.core.otree.invariants import check_tree
from pyqbeast.core.otree.status import IndexStatus
from pyqbeast.core.problems import (
    BLOCK_ROWS,
    ELEMENT_COUNT,
    EXISTS,
    GAP,
    HEAVIEST,
    IN_BLOCKS,
    KEPT,
    KEY_ROWS,
    OF_STATISTICS,
    PARTS,
    READABLE,
    REPLICATED,
    REVISIONS,
    ROW_COUNT,
    ROWS_BY_WEIGHT,
    SIZE,
    TAGS,
    VECTOR,
    VECTOR_ROWS,
    Problem,
)
from pyqbeast.core.revisions.damage import without_damage
from pyqbeast.core.revisions.revision import RevisionSet
from pyqbeast.table.maintain import repair_texts
from pyqbeast.table.maintain.changed_files import FileChange
from pyqbeast.table.maintain.repair_texts import Remedy
from pyqbeast.verification.log_checks import VerifiedFile

_OWN_TAG = {
    HEAVIEST: TAG_MAX_ROW_WEIGHT,
    ROWS_BY_WEIGHT: TAG_WEIGHTS,
    KEY_ROWS: TAG_KEY_ROWS,
    PARTS: TAG_PARTS,
}
_OF_TAGS = (TAGS, IN_BLOCKS, ELEMENT_COUNT)


@dataclass(frozen=True)
class RepairPlan:
    """What is to change in the log.

    Attributes:
        changes: files, by their paths.
        settings: entries of the table's configuration; None takes a key out.
        healed: the problems that are gone with it.
        left: the others, with advice.
    """

    changes: Mapping[str, FileChange]
    settings: Mapping[str, str | None]
    healed: tuple[Remedy, ...]
    left: tuple[Remedy, ...]


def plan_repair(
    problems: Sequence[Problem],
    files: Sequence[VerifiedFile],
    stored: RevisionSet,
    configuration: Mapping[str, str],
    statistics: Mapping[str, str],
    *,
    are_tags_compared: bool,
) -> RepairPlan:
    """Decides on all problems of a table.

    Args:
        problems: all of them.
        files: the live files.
        stored: the table's revisions.
        configuration: the table's.
        statistics: the right ones, by path, of files whose own are wrong.
        are_tags_compared: whether the tags of all files were compared with their rows.
    """
    plan = _Plan(files, statistics, {problem.rule for problem in problems}, are_tags_compared)
    by_file: dict[str, list[Problem]] = {}
    for problem in problems:
        by_file.setdefault(problem.file, []).append(problem)
    of_table = by_file.pop("", [])
    # Only what is told is changed: where nobody can read the table, revisions have not been looked at.
    is_damaged = any(problem.rule == REVISIONS for problem in of_table)
    settings = without_damage(configuration) if is_damaged else None
    for problem in of_table:
        if problem.rule == REVISIONS and settings is not None:
            plan.healed.append(Remedy(problem, repair_texts.REVISED))
        elif problem.rule not in (GAP, KEPT):
            plan.left.append(Remedy(problem, repair_texts.ADVICE[problem.rule]))
    for path, found in by_file.items():
        plan.add(path, found)
    plan.close_trees(stored, [problem for problem in of_table if problem.rule in (GAP, KEPT)])
    return RepairPlan(plan.changes(), settings or {}, tuple(plan.healed), tuple(plan.left))


class _Outcome(NamedTuple):
    """What becomes of the problems of one rule in a file."""

    is_healed: bool
    text: str


class _Plan:
    """The plan as it grows, file by file."""

    def __init__(
        self,
        files: Sequence[VerifiedFile],
        statistics: Mapping[str, str],
        found: Set[str],
        are_tags_compared: bool,
    ) -> None:
        self.files = {file.path: file for file in files}
        self.statistics = statistics
        self.has_copies = any(
            has_copies(of_any_revision(file.tags, file.logged.true_tags).blocks) for file in files
        )
        # A mark is false where no block shows that it is true. Tags that lie may hide that, and without any tags nobody
        # can tell: then both stay.
        do_tags_lie = bool(found & {*_OF_TAGS, BLOCK_ROWS})
        self.keeps_marks = REPLICATED in found and (do_tags_lie or not are_tags_compared)
        self.why_kept = repair_texts.MARKED if do_tags_lie else repair_texts.UNCOMPARED
        #: The files of the marks that stay. What is known of their tags is without the mark.
        self.marked: set[str] = set()
        self.tags: dict[str, Mapping[str, str]] = {}
        self.others: dict[str, FileChange] = {}
        self.healed: list[Remedy] = []
        self.left: list[Remedy] = []

    def add(self, path: str, problems: Sequence[Problem]) -> None:
        """Decides on the problems of one file."""
        rules = {problem.rule for problem in problems}
        if self.keeps_marks and REPLICATED in rules:
            self.marked.add(path)
        is_unreadable = bool(rules & {EXISTS, READABLE})
        # The blocks and the statistics of a file count other rows. Where its rows were counted and the statistics are
        # right, the blocks are wrong, even where its rows could not be compared with them.
        are_blocks_wrong = BLOCK_ROWS in rules and ROW_COUNT not in rules and not is_unreadable
        do_tags_lie = are_blocks_wrong or bool(rules & set(_OF_TAGS))
        tags = self._tags(path, problems, do_tags_lie=do_tags_lie)
        right = self.statistics.get(path) if rules & set(OF_STATISTICS) else None
        outcomes = {rule: _Outcome(False, text) for rule, text in repair_texts.ADVICE.items()}
        of_marks, of_tags = _Outcome(True, repair_texts.UNMARKED), _Outcome(True, repair_texts.UNINDEXED)
        if self.keeps_marks:
            of_marks = of_tags = _Outcome(False, self.why_kept)
        elif self.has_copies:
            of_tags = _Outcome(False, repair_texts.COPIES)
        outcomes |= {**dict.fromkeys(_OF_TAGS, of_tags), REPLICATED: of_marks}
        outcomes |= dict.fromkeys(_OWN_TAG, _Outcome(True, repair_texts.CORRECTED))
        if path in self.marked:
            outcomes |= dict.fromkeys(_OWN_TAG, of_marks)
        elif do_tags_lie and not of_tags.is_healed:
            outcomes |= {p.rule: of_tags for p in problems if p.rule in _OWN_TAG and not p.truth}
        of_statistics = (
            _Outcome(False, repair_texts.FIRST_READ)
            if right is None
            else _Outcome(True, repair_texts.RECOUNTED)
        )
        outcomes |= dict.fromkeys(OF_STATISTICS, of_statistics)
        outcomes[BLOCK_ROWS] = of_tags if do_tags_lie else of_statistics
        size = deleted = None
        for problem in problems:
            if problem.rule == SIZE and not is_unreadable:
                size = int(problem.truth)
                outcomes[SIZE] = _Outcome(True, repair_texts.RESIZED)
            elif problem.rule == VECTOR_ROWS and problem.truth and VECTOR not in rules:
                deleted = int(problem.truth)
                outcomes[VECTOR_ROWS] = _Outcome(True, repair_texts.COUNTED)
        for problem in problems:
            outcome = outcomes[problem.rule]
            (self.healed if outcome.is_healed else self.left).append(Remedy(problem, outcome.text))
        if tags is not None:
            self.tags[path] = tags
        if (right, size, deleted) != (None, None, None):
            self.others[path] = FileChange(None, right, size, deleted)

    def _tags(self, path: str, problems: Sequence[Problem], *, do_tags_lie: bool) -> Mapping[str, str] | None:
        """New tags; None where they stay."""
        rules = {problem.rule for problem in problems}
        if path in self.marked:
            return None
        tags = dict(self.files[path].logged.true_tags)
        if do_tags_lie and not self.has_copies and not self.keeps_marks:
            return {key: value for key, value in tags.items() if key not in INDEX_TAGS}
        changed = rules & {REPLICATED}
        for rule in rules & set(_OWN_TAG):
            truths = [problem.truth for problem in problems if problem.rule == rule and problem.truth]
            # Where other tags lie, nobody knows which of them does.
            if truths or not do_tags_lie:
                tags.pop(_OWN_TAG[rule])
                changed.add(rule)
            if truths:
                tags[_OWN_TAG[rule]] = truths[0]
        return tags if changed else None

    def close_trees(self, stored: RevisionSet, problems: Iterable[Problem]) -> None:
        """Keeps the trees of the files that stay indexed without gaps."""
        is_closed = True
        for number, of_revision in indexed_files(self.files.values()).items():
            files = [file for file in of_revision if TAG_REVISION in self._tags_of(file)]
            blocks = {file.path: file.tags.blocks for file in files if not is_copy(file.tags.blocks)}
            copied = {block.cube for file in files if is_copy(file.tags.blocks) for block in file.tags.blocks}
            status = IndexStatus.from_blocks(
                stored.get(number), (b for each in blocks.values() for b in each)
            )
            if not check_tree(number, status, copied):
                continue
            todays = {
                path: of
                for path, of in blocks.items()
                if path not in self.marked and not are_legacy(self._tags_of(self.files[path]))
            }
            if not todays:
                is_closed = False
                continue
            first, added = closing(todays, status.cubes)
            tags = {
                **self._tags_of(self.files[first]),
                TAG_BLOCKS: blocks_to_json([*todays[first], *added]),
            }
            self.tags[first] = tags
        for problem in problems:
            if is_closed:
                self.healed.append(Remedy(problem, repair_texts.CLOSED))
            else:
                text = self.why_kept if self.marked else repair_texts.ADVICE[problem.rule]
                self.left.append(Remedy(problem, text))

    def _tags_of(self, file: VerifiedFile) -> Mapping[str, str]:
        return self.tags.get(file.path, file.logged.true_tags)

    def changes(self) -> dict[str, FileChange]:
        """All that changes, by file."""
        paths = {**self.tags, **self.others}
        return {
            path: self.others.get(path, FileChange())._replace(tags=self.tags.get(path)) for path in paths
        }
