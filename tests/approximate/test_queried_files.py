"""What the log tells of the files of a query, before anything of them is read."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from pyqbeast.approximate.queried_files import QueriedFiles
from pyqbeast.bridge.aggregate_query import QueriedFile, QueriedTable
from pyqbeast.core.format.constants import TAG_BLOCKS, TAG_REVISION, WEIGHT_MAX, WEIGHT_MIN
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block, blocks_to_json
from pyqbeast.delta_log.file_checks import usable_statistics
from tests.core.format.stored_texts import REVISIONS


def test_blocks_count_the_rows_of_files_without_statistics_of_every_revision():
    """Also of one that the table has lost, or whose weights no longer hold. Statistics of no rows are statistics."""
    by_statistics, empty = file(1, 7, numRecords=10), file(1, 7, numRecords=0)
    by_blocks, of_lost, of_stale = (file(number, 100) for number in (1, 9, 2))
    assert queried(by_statistics, empty, by_blocks).rows == 110
    assert queried(by_statistics, empty, of_lost, of_stale).rows == 210


@pytest.mark.parametrize("no_count", [-5, 2**63, True, "7", 1.5, None])
def test_what_is_no_count_of_rows_leaves_it_to_the_blocks(no_count):
    statistics = json.dumps({"numRecords": no_count})
    assert queried(file(1, 7, **usable_statistics(statistics)), file(1, 7, numRecords=100)).rows == 107


def test_weights_are_those_of_revisions_that_tell_them_today():
    costs = queried(file(1, 5), file(2, 5), file(9, 5)).costs
    assert costs.low.tolist() == [0, WEIGHT_MIN, WEIGHT_MIN]
    assert costs.high.tolist() == [WEIGHT_MAX] * 3


def file(revision, in_block, **statistics):
    """A file of table 0 with one block of so many rows."""
    block = Block(CubeId.root(1), 0, WEIGHT_MAX, in_block)
    tags = {TAG_REVISION: str(revision), TAG_BLOCKS: blocks_to_json([block])}
    return QueriedFile(0, f"{revision}.parquet", 1_000, tags, statistics)


def queried(*files):
    """What is known of a query of these files, of a table with revisions 1 and 2. Weights of today are those of 1."""
    revisions = {f"qbeast.revision.{number}": of(number) for number in (1, 2)}
    table = QueriedTable(
        {**revisions, "qbeast.lastRevisionID": "2"}, {"1"}, (WEIGHT_MIN, WEIGHT_MAX + 1), holds_lists=False
    )
    query = SimpleNamespace(files=lambda: files, tables=[table], keyed=[0], multiplied=[0], is_full=False)
    return QueriedFiles.of(query)


def of(number):
    return REVISIONS[0].replace('"revisionID": 1,', f'"revisionID": {number},')
