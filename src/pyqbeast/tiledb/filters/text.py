"""Run-length and dictionary encoding of text, which keep the cells' lengths beside the characters.

The field's own offsets tile holds nothing then. Numbers are big-endian here, and as wide as the largest
of them needs.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from pyqbeast.core.errors import InvalidInputError
from pyqbeast.tiledb.cursor import Cursor, u8, u32
from pyqbeast.tiledb.errors import ArrayFormatError
from pyqbeast.tiledb.filters.base import ChunkContext, Octets, is_text_mode, octets
from pyqbeast.tiledb.filters.compress import LONGEST_RUN, Compressor

Offsets = npt.NDArray[np.int64]


class Dictionary(Compressor):
    """Each cell as a number in a dictionary of the chunk's distinct texts."""

    id, method, name = 14, 7, "dictionary"

    def needs_whole_tile(self, context: ChunkContext) -> bool:
        """Whether the filter works on cells of text and so puts a tile into a single chunk."""
        return is_text_mode(context, ascii_since=13)

    def problem(self, context: ChunkContext) -> str | None:
        """Why no new array can have the filter at this place, `None` where it can."""
        return None if self.needs_whole_tile(context) else "takes ASCII and UTF-8 of varying length only"

    def decompress(self, data: Octets, size: int, context: ChunkContext) -> Octets:
        """The `size` bytes that were compressed."""
        raise ArrayFormatError("dictionary: the field holds no text")

    def compress(self, data: Octets, context: ChunkContext) -> Octets:
        """The bytes, compressed."""
        raise InvalidInputError("the filter dictionary takes ASCII and UTF-8 of varying length only")


def decode_text(
    name: str, metadata: memoryview, data: Octets, size: int, cells: int
) -> tuple[Octets, Offsets]:
    """The characters and offsets (one more than cells) of a chunk of text.

    Args:
        name: "rle" or "dictionary".
        metadata: the chunk's metadata as far as no later filter has taken it.
        data: the encoded cells.
        size: bytes of all cells together.
        cells: how many are due.

    Raises:
        ArrayFormatError: the chunk contradicts itself, or holds another number of cells.
    """
    cursor = Cursor(metadata)
    if (cursor.u32("metadata parts"), cursor.u32("data parts")) != (0, 1):
        raise ArrayFormatError(f"{name}: text has more than one part")
    stated, packed, offset_bytes = cursor.u32("size"), cursor.u32("encoded size"), cursor.u32("offsets size")
    widths = cursor.u8("width of numbers"), cursor.u8("width of lengths")
    if stated != size or packed != data.size or not set(widths) <= {1, 2, 4, 8}:
        raise ArrayFormatError(f"{name}: {stated} bytes of text where {size} are due")
    if offset_bytes != 8 * cells:
        raise ArrayFormatError(f"{name}: {offset_bytes} bytes of offsets where {cells} cells are due")
    if name == "rle":
        texts, repeats = _read_runs(data, *widths)
        chosen = np.repeat(np.arange(repeats.size), _checked(repeats, cells))
    else:
        entries = Cursor(cursor.take(cursor.u32("dictionary size"), "dictionary"))
        texts = _read_entries(octets(entries.rest()), widths[1])
        chosen = np.frombuffer(data.data, dtype=f">u{widths[0]}").astype(np.int64)
        if chosen.size != cells:
            raise ArrayFormatError(f"dictionary: {chosen.size} cells where {cells} are due")
    return _gather(texts, chosen, size)


def _checked(repeats: Offsets, cells: int) -> Offsets:
    # Numbers of eight bytes can be negative here, and their sum can wrap around to what is due.
    if ((repeats < 0) | (repeats > cells)).any() or int(repeats.sum()) != cells:
        raise ArrayFormatError(f"rle: runs of other than the {cells} cells that are due")
    return repeats


def _read_runs(
    data: Octets, run_width: int, length_width: int
) -> tuple[tuple[Octets, Offsets, Offsets], Offsets]:
    """(bytes, starts, lengths) of the runs' texts, and how often each is repeated."""
    starts, lengths = _walk(data, run_width, length_width)
    heads = starts[:, None] - (run_width + length_width) + np.arange(run_width)
    repeats = np.ascontiguousarray(data[heads]).view(f">u{run_width}")[:, 0].astype(np.int64)
    return (data, starts, lengths), repeats


def _read_entries(data: Octets, length_width: int) -> tuple[Octets, Offsets, Offsets]:
    return (data, *_walk(data, 0, length_width))


def _walk(data: Octets, skip: int, width: int) -> tuple[Offsets, Offsets]:
    """Where the texts of (number, length, text) records lie: one step per record, each found by the one before."""
    raw, end, position = data.tobytes(), data.size, 0
    starts, lengths = [], []
    while position < end:
        start = position + skip + width
        length = int.from_bytes(raw[position + skip : start], "big")
        position = start + length
        if position > end:
            raise ArrayFormatError("text runs past the end of its chunk")
        starts.append(start)
        lengths.append(length)
    return np.array(starts, dtype=np.int64), np.array(lengths, dtype=np.int64)


def _gather(texts: tuple[Octets, Offsets, Offsets], chosen: Offsets, size: int) -> tuple[Octets, Offsets]:
    data, starts, lengths = texts
    if chosen.size and (chosen.min() < 0 or chosen.max() >= starts.size):
        raise ArrayFormatError("dictionary: a cell has no entry")
    cell_lengths = lengths[chosen]
    offsets = np.concatenate([[0], np.cumsum(cell_lengths)])
    if int(offsets[-1]) != size:
        raise ArrayFormatError(f"{offsets[-1]} bytes of text where {size} are due")
    # Position i of the result comes from its cell's text, as far into it as i is into the cell.
    source = np.repeat(starts[chosen] - offsets[:-1], cell_lengths) + np.arange(size)
    return data[source], offsets


def encode_text(name: str, values: Octets, offsets: Offsets) -> tuple[bytes, Octets]:
    """The metadata and data of a chunk of text: the reverse of `decode_text`."""
    lengths = np.diff(offsets)
    raw = values.tobytes()
    cells = [raw[a:b] for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
    width = _width(int(lengths.max(initial=0)))
    if name == "rle":
        data, number_width, dictionary = _write_runs(cells, width)
    else:
        data, number_width, dictionary = _write_dictionary(cells, width)
    head = u32(0, 1, len(raw), len(data), 8 * len(cells)) + u8(number_width) + u8(width)
    if name == "dictionary":
        head += u32(len(dictionary)) + dictionary
    return head, octets(data)


def _width(largest: int) -> int:
    return next(width for width in (1, 2, 4, 8) if largest < 1 << (8 * width))


def _write_runs(cells: list[bytes], width: int) -> tuple[bytes, int, bytes]:
    runs: list[tuple[int, bytes]] = []
    for text, group in itertools.groupby(cells):
        count = sum(1 for _ in group)
        runs += [(min(LONGEST_RUN, count - done), text) for done in range(0, count, LONGEST_RUN)]
    number_width = _width(max((count for count, _ in runs), default=0))
    data = b"".join(
        count.to_bytes(number_width, "big") + len(text).to_bytes(width, "big") + text for count, text in runs
    )
    return data, number_width, b""


def _write_dictionary(cells: list[bytes], width: int) -> tuple[bytes, int, bytes]:
    numbers = {text: number for number, text in enumerate(dict.fromkeys(cells))}
    number_width = _width(max(len(numbers) - 1, 0))
    data = np.array([numbers[cell] for cell in cells], dtype=f">u{number_width}").tobytes()
    return data, number_width, b"".join(len(text).to_bytes(width, "big") + text for text in numbers)
