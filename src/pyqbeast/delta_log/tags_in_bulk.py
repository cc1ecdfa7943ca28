"""What the tags of many files say, their blocks read at once by Arrow.

A table may have 100,000 files, and reading their blocks one by one takes twice as long. What Arrow takes for the same
as `parse_tags` is read here, and all else there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import (
    BLOCK_CUBE_ID,
    BLOCK_ELEMENT_COUNT,
    BLOCK_MAX_WEIGHT,
    BLOCK_MIN_WEIGHT,
    BLOCK_REPLICATED,
    STAGING_REVISION,
    TAG_BLOCKS,
    TAG_REVISION,
    WEIGHT_MAX,
    WEIGHT_MIN,
)
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block, FileTags, parse_tags
from pyqbeast.core.format.stored_text import whole_number
from pyqbeast.delta_log.json_in_bulk import AT_ONCE, numbers, read_lines

#: From fewer files there is nothing to gain.
_WORTH = 500
_BLOCK = pa.struct(
    {
        BLOCK_CUBE_ID: pa.string(),
        BLOCK_MIN_WEIGHT: pa.int64(),
        BLOCK_MAX_WEIGHT: pa.int64(),
        BLOCK_ELEMENT_COUNT: pa.int64(),
        BLOCK_REPLICATED: pa.bool_(),
    }
)
_LINE = pa.schema({"blocks": pa.list_(_BLOCK)})


def tags_in_bulk(
    tags: Sequence[Mapping[str, str]], dimensions_of: Callable[[int], int | None]
) -> list[FileTags]:
    """What `parse_tags` says of each of these tags."""
    of_revision: dict[str, list[int]] = defaultdict(list)
    for place, each in enumerate(tags):
        if TAG_REVISION in each and TAG_BLOCKS in each:
            of_revision[each[TAG_REVISION]].append(place)
    found: dict[int, FileTags] = {}
    for stored, places in of_revision.items():
        revision, dimensions = _known_revision(stored, dimensions_of)
        if dimensions is None:
            continue
        for first in range(0, len(places), AT_ONCE):
            part = places[first : first + AT_ONCE]
            blocks = _blocks([tags[place][TAG_BLOCKS] for place in part], dimensions)
            found.update(zip(part, [FileTags(revision, each) for each in blocks], strict=False))
    return [found.get(place) or parse_tags(each, dimensions_of) for place, each in enumerate(tags)]


def _known_revision(stored: str, dimensions_of: Callable[[int], int | None]) -> tuple[int, int | None]:
    """A revision and its dimensions; None for one that has no blocks, or is not known."""
    try:
        revision = whole_number(stored, TAG_REVISION)
    except FormatError:
        return STAGING_REVISION, None
    return revision, None if revision == STAGING_REVISION else dimensions_of(revision)


def _blocks(texts: Sequence[str], dimensions: int) -> list[tuple[Block, ...]]:
    """The blocks of each of these texts; nothing where they are few, or one of them is not as blocks are written."""
    lines = "\n".join([f'{{"blocks":{text}}}' for text in texts])
    # Arrow takes the end of a line for that of an object.
    if len(texts) < _WORTH or "\r" in lines or lines.count("\n") != len(texts) - 1:
        return []
    try:
        rows = read_lines(lines.encode(), _LINE)
        return _of_rows(rows["blocks"].combine_chunks(), dimensions) if len(rows) == len(texts) else []
    except (FormatError, pa.ArrowException, UnicodeError):
        return []


def _of_rows(lists: pa.ListArray, dimensions: int) -> list[tuple[Block, ...]]:
    """The blocks of each row. Raises FormatError for a cube that is none."""
    structs = lists.flatten()
    columns = structs.flatten()
    ends = np.frombuffer(lists.buffers()[1], np.int32, len(lists) + 1)
    if lists.null_count or structs.null_count or any(column.null_count for column in columns):
        return []
    cubes, lows, highs, counts, replicated = columns
    low, high, count = map(numbers, (lows, highs, counts))
    are_true = (low >= WEIGHT_MIN) & (low <= high) & (high <= WEIGHT_MAX) & (count >= 0)
    if not are_true.all() or not (np.diff(ends) > 0).all():
        return []
    encoded = cubes.dictionary_encode()
    distinct = [CubeId.from_string(text, dimensions) for text in encoded.dictionary.to_pylist()]
    cube_of = np.frombuffer(encoded.indices.buffers()[1], np.int32, len(cubes)).tolist()
    blocks = tuple(
        map(
            Block._make,
            zip(
                map(distinct.__getitem__, cube_of),
                low.tolist(),
                high.tolist(),
                count.tolist(),
                replicated.to_pylist() if replicated.true_count else [False] * len(cubes),
                strict=True,
            ),
        )
    )
    return [blocks[start:end] for start, end in pairwise(ends.tolist())]
