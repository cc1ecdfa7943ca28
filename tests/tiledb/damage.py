"""Damage to an array's files: to their bytes, and to what compression and checksums would otherwise guard."""

from __future__ import annotations

import dataclasses
import struct

from pyqbeast.tiledb.format.footer import LENGTH_SIZE, Footer
from pyqbeast.tiledb.format.generic_tile import GenericTile, encode_generic_tile

#: Numbers that counts, sizes and offsets go wrong with.
_NUMBERS = [
    0,
    1,
    3,
    127,
    255,
    2**15,
    2**16,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**40,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
]


def damaged(good, rng):
    """Bytes with one change: a bit, a number, some left out, some more, or some from elsewhere."""
    broken, at = bytearray(good), rng.randrange(len(good))
    width = rng.choice([1, 4, 8])
    change = rng.randrange(5)
    if change == 0:
        broken[at] ^= 1 << rng.randrange(8)
    elif change == 1:
        broken[at : at + width] = (rng.choice(_NUMBERS) % 256**width).to_bytes(width, "little")
    elif change == 2:
        del broken[at : at + width]
    elif change == 3:
        broken[at:at] = rng.randbytes(width)
    else:
        other = rng.randrange(len(good))
        broken[at : at + width] = broken[other : other + width]
    return bytes(broken)


def damaged_within(good, schema, key, rng):
    """A file of generic tiles with one change inside one of them (or to the footer); whole again from outside."""
    if schema is None:
        tile = GenericTile.parse(good, "", "", key)
        return encode_generic_tile(damaged(tile.payload, rng), tile.version, key if tile.encrypted else None)
    start = len(good) - LENGTH_SIZE - struct.unpack("<Q", good[-LENGTH_SIZE:])[0]
    raw = good[start:-LENGTH_SIZE]
    if rng.random() < 0.3:
        broken = damaged(raw, rng)
        return good[:start] + broken + struct.pack("<Q", len(broken))
    footer = Footer.parse(raw, "", schema.dimension_fields, len(schema.attributes))
    payloads = {
        offset: GenericTile.parse(good[offset:start], "", "", key).payload for offset in footer.offsets
    }
    chosen = rng.choice(footer.offsets)
    payloads[chosen] = damaged(payloads[chosen], rng)
    out, moved = b"", {}
    for offset, payload in payloads.items():
        moved[offset] = len(out)
        out += encode_generic_tile(payload, footer.version, key)
    footer = dataclasses.replace(
        footer,
        rtree=moved[footer.rtree],
        sections={name: tuple(moved[o] for o in offsets) for name, offsets in footer.sections.items()},
        fragment_statistics=moved.get(footer.fragment_statistics),
        processed_conditions=moved.get(footer.processed_conditions),
    )
    return out + footer.to_bytes(schema.dimension_fields)
