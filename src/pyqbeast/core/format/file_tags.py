"""Blocks: the rows of one cube inside one file, and the tags of a file that describe its blocks."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import (
    BLOCK_CUBE,
    BLOCK_CUBE_ID,
    BLOCK_ELEMENT_COUNT,
    BLOCK_MAX_WEIGHT,
    BLOCK_MIN_WEIGHT,
    BLOCK_REPLICATED,
    LEGACY_TAG_CUBE,
    LEGACY_TAG_ELEMENT_COUNT,
    LEGACY_TAG_MAX_WEIGHT,
    LEGACY_TAG_MIN_WEIGHT,
    LEGACY_TAG_STATE,
    LONG_MAX,
    STAGING_REVISION,
    STATE_ANNOUNCED,
    STATE_FLOODED,
    STATE_REPLICATED,
    TAG_BLOCKS,
    TAG_KEY_ROWS,
    TAG_MAX_ROW_WEIGHT,
    TAG_PARTS,
    TAG_REVISION,
    TAG_WEIGHTS,
    WEIGHT_MAX,
    WEIGHT_MIN,
)
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.json_text import compact_json
from pyqbeast.core.format.stored_text import read_json, shown, whole_number

_LEGACY_TAGS = frozenset(
    {
        LEGACY_TAG_STATE,
        LEGACY_TAG_CUBE,
        LEGACY_TAG_MIN_WEIGHT,
        LEGACY_TAG_MAX_WEIGHT,
        LEGACY_TAG_ELEMENT_COUNT,
    }
)
#: All tags that tell of an index.
INDEX_TAGS = _LEGACY_TAGS | {
    TAG_REVISION,
    TAG_BLOCKS,
    TAG_KEY_ROWS,
    TAG_MAX_ROW_WEIGHT,
    TAG_PARTS,
    TAG_WEIGHTS,
}

#: Dimensions of cubes where nobody knows how many they have. Each symbol of an id is a level then, so that the id of a
#: cube still begins with those of the cubes above it.
_ANY_DIMENSIONS = 6
#: What marks a block, also in a text that was cut off within it. `FileTags.java` has the same.
_MARK = re.compile(rf'"{BLOCK_REPLICATED}"\s*:\s*"?(true|t?r?u?\Z)', re.ASCII)
_INT = r"(-?[1-9][0-9]{0,9}|0)"
#: A block as `blocks_to_json` writes it, with what follows.
_AS_WRITTEN = re.compile(
    rf'{{"{BLOCK_CUBE_ID}":"([A-Za-z0-9+/]*)","{BLOCK_MIN_WEIGHT}":{_INT},"{BLOCK_MAX_WEIGHT}":{_INT},'
    rf'"{BLOCK_ELEMENT_COUNT}":([1-9][0-9]{{0,17}}|0),"{BLOCK_REPLICATED}":(true|false)}}([,\]])',
    re.ASCII,
)


class Block(NamedTuple):
    """The rows of one cube inside one file.

    No row is lighter than `min_weight`. `max_weight` is the largest weight that the cube keeps: no row need have it,
    and files that versions 0.3 to 0.5 of the Scala project have joined hold heavier ones. The rows of a `replicated`
    block are stored a second time, in blocks of child cubes, so readers leave the block out.
    """

    cube: CubeId
    min_weight: int
    max_weight: int
    element_count: int
    replicated: bool = False


def is_copy(blocks: Sequence[Block]) -> bool:
    """Whether all rows of an indexed file with these blocks are stored a second time in other files, by its marks."""
    return bool(blocks) and all(block.replicated for block in blocks)


def has_copies(blocks: Iterable[Block]) -> bool:
    """Whether some rows of a file with these blocks are stored a second time in other files, by its marks."""
    return any(block.replicated for block in blocks)


class FileTags(NamedTuple):
    """What the tags of a file say. A file of revision 0 is not indexed and has no blocks.

    `problem` says why a file with index tags counts as not indexed; None if the tags are good, or there are none.
    """

    revision_id: int
    blocks: tuple[Block, ...]
    problem: str | None = None


class TaggedFile(Protocol):
    """A file of which it is known what its tags say."""

    @property
    def tags(self) -> FileTags:
        """That."""


TAGGED = TypeVar("TAGGED", bound=TaggedFile)


class Mark(enum.Enum):
    """What damaged tags say of whether a file is marked."""

    SET = enum.auto()
    NOT_SET = enum.auto()
    UNKNOWN = enum.auto()


#: The mark that a state of before format 0.6 stands for.
_STATES = {STATE_FLOODED: Mark.NOT_SET, STATE_ANNOUNCED: Mark.SET, STATE_REPLICATED: Mark.SET}


def is_of_spark(tags: Mapping[str, str]) -> bool:
    """Whether Spark has surely written a file with these tags, as it has each file of an index, and so its statistics.

    The log does not tell who wrote others. delta-rs leaves NaN, the largest value, out of their statistics, and counts
    nulls wrongly.
    """
    return not INDEX_TAGS.isdisjoint(tags)


def blocks_to_json(blocks: Iterable[Block]) -> str:
    """The text of the `blocks` tag."""
    return compact_json(
        [
            {
                BLOCK_CUBE_ID: block.cube.to_string(),
                BLOCK_MIN_WEIGHT: block.min_weight,
                BLOCK_MAX_WEIGHT: block.max_weight,
                BLOCK_ELEMENT_COUNT: block.element_count,
                BLOCK_REPLICATED: block.replicated,
            }
            for block in blocks
        ]
    )


def parse_tags(tags: Mapping[str, str] | None, dimensions_of: Callable[[int], int | None]) -> FileTags:
    """The revision and the blocks of a file.

    `dimensions_of` gives the number of dimensions of a revision, None for one that is not known.
    Never raises: a file whose tags cannot be understood counts as not indexed, so that it is still read.
    """
    if not isinstance(tags, Mapping) or TAG_REVISION not in tags:
        return FileTags(STAGING_REVISION, ())
    try:
        revision_id = whole_number(tags[TAG_REVISION], f"tag {TAG_REVISION!r}")
        if revision_id == STAGING_REVISION:
            return FileTags(STAGING_REVISION, ())
        dimensions = dimensions_of(revision_id)
        if dimensions is None:
            raise FormatError(f"revision {revision_id} is not in the table's configuration")
        return FileTags(revision_id, tuple(_blocks(tags, dimensions)))
    except FormatError as error:
        return FileTags(STAGING_REVISION, (), f"index tags cannot be used: {error}")


def indexed_files(files: Iterable[TAGGED]) -> dict[int, list[TAGGED]]:
    """The files of each revision, by its number and in their order, but for those without an index.

    A table may have thousands of revisions.
    """
    found: dict[int, list[TAGGED]] = {}
    for file in files:
        if file.tags.revision_id != STAGING_REVISION:
            found.setdefault(file.tags.revision_id, []).append(file)
    return dict(sorted(found.items()))


def parse_alone(tags: Mapping[str, str] | None) -> FileTags:
    """What the tags of a file say whether the table has their revision or not: marks of copies outlive a revision.

    Cubes are those of `_ANY_DIMENSIONS`. Never raises.
    """
    return parse_tags(tags, lambda _: _ANY_DIMENSIONS)


def of_any_revision(parsed: FileTags, tags: Mapping[str, str]) -> FileTags:
    """What `parse_tags` gave of a file's tags; where it gave no blocks, what they say whatever their revision is."""
    return parsed if parsed.blocks else parse_alone(tags)


def are_blocks_told(tags: Mapping[str, str], blocks: Sequence[Block]) -> bool:
    """Whether the blocks that are read for a file of these tags stand in them."""
    return bool(blocks) and (TAG_BLOCKS in tags or LEGACY_TAG_CUBE in tags)


def mark_of(tags: Mapping[str, str]) -> Mark:
    """What tags that tell no blocks still say of a mark; unknown where they do not tell, and were of an index."""
    text = tags.get(TAG_BLOCKS)
    if text is not None:
        if _MARK.search(text):
            return Mark.SET
        return Mark.NOT_SET if "false" in text else Mark.UNKNOWN
    if not tags.keys().isdisjoint(_LEGACY_TAGS):
        return _STATES.get(tags.get(LEGACY_TAG_STATE) or "", Mark.UNKNOWN)
    revision = tags.get(TAG_REVISION)
    return Mark.NOT_SET if revision is None or revision == str(STAGING_REVISION) else Mark.UNKNOWN


def are_legacy(tags: Mapping[str, str]) -> bool:
    """Whether the tags are those of a file written before format 0.6."""
    return TAG_REVISION in tags and LEGACY_TAG_CUBE in tags and TAG_BLOCKS not in tags


def _blocks(tags: Mapping[str, str], dimensions: int) -> list[Block]:
    if TAG_BLOCKS in tags:
        as_written = _blocks_as_written(tags[TAG_BLOCKS], dimensions)
        if as_written is not None:
            return as_written
        stored = read_json(_text(tags, TAG_BLOCKS), f"tag {TAG_BLOCKS!r}")
        if not isinstance(stored, list) or not stored:
            raise FormatError(f"tag {TAG_BLOCKS!r} has to be a list of blocks, not {shown(stored)}")
        return [_block(item, dimensions) for item in stored]
    if LEGACY_TAG_CUBE in tags:
        return [_legacy_block(tags, dimensions)]
    return [Block(CubeId.root(dimensions), WEIGHT_MIN, WEIGHT_MAX, 0)]


def _blocks_as_written(text: object, dimensions: int) -> list[Block] | None:
    """The blocks of a tag that has just the form of `blocks_to_json`; None for every other.

    A table may have 100,000 files, and reading any JSON takes three times as long.
    """
    if not isinstance(text, str) or not text.startswith("["):
        return None
    blocks, at = [], 1
    while (match := _AS_WRITTEN.match(text, at)) is not None:
        cube, low, high, count, replicated, following = match.groups()
        blocks.append(
            _checked(cube, dimensions, int(low), int(high), int(count), replicated=replicated == "true")
        )
        at = match.end()
        if following == "]":
            return blocks if at == len(text) else None
    return None


def _block(item: Any, dimensions: int) -> Block:  # noqa: ANN401 (any JSON value)
    if not isinstance(item, dict):
        raise FormatError(f"a block has to be an object, not {shown(item)}")
    cube = item.get(BLOCK_CUBE_ID, item.get(BLOCK_CUBE))
    low, high, count = item.get(BLOCK_MIN_WEIGHT), item.get(BLOCK_MAX_WEIGHT), item.get(BLOCK_ELEMENT_COUNT)
    # `type` and not `isinstance`: a JSON boolean is no weight.
    if not (isinstance(cube, str) and type(low) is type(high) is type(count) is int):
        raise FormatError(
            f"a block needs {BLOCK_CUBE_ID}, {BLOCK_MIN_WEIGHT}, {BLOCK_MAX_WEIGHT} and "
            f"{BLOCK_ELEMENT_COUNT}, not {shown(item)}"
        )
    replicated = item.get(BLOCK_REPLICATED, False)
    if not isinstance(replicated, bool):
        raise FormatError(f"{BLOCK_REPLICATED} of a block has to be true or false, not {shown(replicated)}")
    return _checked(cube, dimensions, low, high, count, replicated=replicated)


def _legacy_block(tags: Mapping[str, str], dimensions: int) -> Block:
    """The one block of a file written before format 0.6."""
    names = (LEGACY_TAG_MIN_WEIGHT, LEGACY_TAG_MAX_WEIGHT, LEGACY_TAG_ELEMENT_COUNT)
    missing = [name for name in (*names, LEGACY_TAG_STATE) if name not in tags]
    if missing:
        raise FormatError(f"tags {', '.join(missing)} are missing")
    low, high, count = (whole_number(tags[name], f"tag {name!r}") for name in names)
    mark = _STATES.get(state := _text(tags, LEGACY_TAG_STATE))
    if mark is None:
        raise FormatError(
            f"tag {LEGACY_TAG_STATE!r} has to be one of {', '.join(_STATES)}, not {shown(state)}"
        )
    return _checked(_text(tags, LEGACY_TAG_CUBE), dimensions, low, high, count, replicated=mark is Mark.SET)


def _text(tags: Mapping[str, str], name: str) -> str:
    if not isinstance(tags[name], str):
        raise FormatError(f"tag {name!r} has to be a text, not {shown(tags[name])}")
    return tags[name]


def _checked(cube: str, dimensions: int, low: int, high: int, count: int, *, replicated: bool) -> Block:
    """A block, if its figures can be true. Samples skip files by these figures. Raises FormatError for others."""
    if not (WEIGHT_MIN <= low <= high <= WEIGHT_MAX and 0 <= count <= LONG_MAX):
        figures = f"weights {shown(low)}..{shown(high)} and {shown(count)} rows"
        raise FormatError(f"the block of cube {shown(cube)} has {figures}")
    return Block(CubeId.from_string(cube, dimensions), low, high, count, replicated)


def blocks_with_rows(blocks: Sequence[Block]) -> Sequence[Block]:
    """The blocks of a file that tell of its rows: not those without any, which close gaps in the tree."""
    return [block for block in blocks if block.element_count] or blocks


def weight_bounds(tags: Mapping[str, str], blocks: Sequence[Block]) -> tuple[int, int]:
    """The smallest and the largest weight that a row of a file with these blocks can have.

    A block's largest weight is that of its cube. It does not bound the rows: versions 0.3 to 0.5 of the Scala project
    joined the blocks of a cube and stored the smallest of their weights. So only the tag counts in which pyqbeast
    writes the largest weight of the file's own rows.
    """
    recorded = recorded_weight(tags, blocks)
    return _block_weights(blocks)[0], WEIGHT_MAX if recorded is None else recorded


def recorded_weight(tags: Mapping[str, str], blocks: Sequence[Block]) -> int | None:
    """The largest weight of a file's rows by its tag; None where that is no weight of its blocks, or missing."""
    lowest, highest = _block_weights(blocks)
    try:
        recorded = whole_number(tags[TAG_MAX_ROW_WEIGHT], TAG_MAX_ROW_WEIGHT)
    except (KeyError, FormatError):
        return None
    return recorded if lowest <= recorded <= highest else None


def _block_weights(blocks: Sequence[Block]) -> tuple[int, int]:
    return min([block.min_weight for block in blocks]), max([block.max_weight for block in blocks])
