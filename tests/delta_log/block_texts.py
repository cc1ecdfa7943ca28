"""Texts of the tag that names a file's blocks: as they are written, others, and damaged ones."""

from __future__ import annotations

from hypothesis import strategies as st

from pyqbeast.core.format.constants import LONG_MAX, WEIGHT_MAX
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_tags import Block, blocks_to_json
from tests.core.hostile import damaged, hostile_texts

ROOT = CubeId.root(2)
CHILD = CubeId.from_string("Q", 2)
USUAL = [
    blocks_to_json([Block(ROOT, -5, 7, 3)]),
    blocks_to_json([Block(ROOT, -5, 7, 3), Block(CHILD, 8, WEIGHT_MAX, LONG_MAX, replicated=True)]),
    blocks_to_json([Block(CHILD, 0, 0, 0)]),
    '[{"replicated":false,"cubeId":"\\u0051","maxWeight":2,"minWeight":-0,"elementCount":3}]',
    ' [ {"cubeId":"Q","minWeight":1,"maxWeight":2,"elementCount":3,"replicated":true} ]\t',
]
BLOCK = USUAL[0][1:-1]
#: Texts that are no blocks, or not as they are written.
UNUSUAL = [
    "[]",
    "",
    "null",
    f"[null,{BLOCK}]",
    f"[{BLOCK}],",
    f'[{BLOCK}]}}{{"blocks":[{BLOCK}]',
    f"[{BLOCK}] [{BLOCK}]",
    f"[{BLOCK},\n{BLOCK}]",
    f"[{BLOCK},\r{BLOCK}]",
    USUAL[0].replace("-5", "8"),
    USUAL[0].replace("-5", "-5.0"),
    USUAL[0].replace("-5", "NaN"),
    USUAL[0].replace("-5", "true"),
    USUAL[0].replace("-5", str(-(2**31) - 1)),
    USUAL[0].replace("-5", str(-(10**30))),
    USUAL[0].replace(":3", ":-3"),
    USUAL[0].replace(":3", f":{2**63}"),
    USUAL[0].replace("false", "null"),
    USUAL[0].replace(',"replicated":false', ""),
    USUAL[0].replace('"cubeId"', '"cube"'),
    USUAL[0].replace('"cubeId"', '"elementCount":3,"cubeId"'),
    USUAL[0].replace('"cubeId":""', '"cubeId":"\\ud800"'),
    USUAL[0].replace('"cubeId":""', '"cubeId":"Q?"'),
    USUAL[0].replace("{", '{"more":[1],'),
]
texts = st.sampled_from(USUAL) | st.sampled_from(UNUSUAL) | hostile_texts(USUAL).flatmap(damaged)
