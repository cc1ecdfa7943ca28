"""Python and Java read the same texts of a table's log, and agree about each of them, however odd it is."""

from __future__ import annotations

import json
import random

from py4j.java_collections import MapConverter
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, MapType, StringType, StructType

from pyqbeast import bridge
from pyqbeast.core.errors import FormatError
from pyqbeast.core.format.constants import LAST_REVISION, REVISION_PREFIX, TAG_PARTS
from pyqbeast.core.format.cube import CubeId
from pyqbeast.core.format.file_parts import parse_parts_tag
from pyqbeast.core.format.file_tags import (
    Mark,
    are_blocks_told,
    has_copies,
    mark_of,
    parse_alone,
    parse_tags,
)
from pyqbeast.core.format.stored_text import read_json, whole_number
from pyqbeast.core.revisions.revision import revisions_from_configuration
from tests.core.format.stored_texts import (
    BLOCKS,
    COLUMNS,
    HOSTILE_TAGS,
    LEGACY,
    REPEATED,
    REVISIONS,
    revision_text,
)
from tests.core.hostile import ODD, TOKENS, Raw, damaged, drawn, hostile_texts, nested

TAGGED = StructType().add("id", IntegerType()).add("tags", MapType(StringType(), StringType()))
ANY_JSON = ['{"a":[1,-2.5e3,"x\\u00e9",null,true,{"b":{}}]}', '["a",1]', "7", '"text"']


def has_a_name_in_utf_8(text):
    """Whether the text can be sent to the JVM at all."""
    return text is None or text == text.encode("utf-8", "ignore").decode()


def taken(read, *arguments):
    try:
        return read(*arguments, "it")
    except FormatError:
        return None


def test_the_same_texts_are_json(java):
    edges = [
        nested(100),
        nested(101),
        nested(900),
        "1" * 1_000,
        "1" * 1_001,
        "[" + "1," * 500 + "1]",
        '{"a":1,"a":2}',
    ]
    odd = [each for each in ODD if isinstance(each, Raw)]
    texts = [*edges, *odd, *TOKENS, *drawn(hostile_texts(ANY_JSON).flatmap(damaged), 150)]
    for text in filter(has_a_name_in_utf_8, dict.fromkeys(map(str, texts))):
        found = java("format.Json", "read", ("String", text))
        value = taken(read_json, text)
        if value is None:
            assert found.isMissingNode() or found.isNull(), text[:200]
        elif has_a_name_in_utf_8(json.dumps(value, ensure_ascii=False)):
            assert json.loads(found.toString()) == value, text[:200]


def test_the_same_texts_are_numbers(java):
    texts = [each for each in ODD if isinstance(each, str)]
    for text in [*texts, "0", "-0", "007", str(2**63 - 1), str(2**63), str(-(2**63)), "9" * 20, None]:
        if has_a_name_in_utf_8(text):
            assert java("format.Json", "wholeNumber", ("String", text)) == taken(whole_number, text), text


def test_the_same_revisions_can_be_used(java):
    """Java does not look at the parameters of transformations: no weight depends on them."""
    texts = filter(has_a_name_in_utf_8, drawn(hostile_texts(REVISIONS), 150))
    for text in dict.fromkeys([*texts, revision_text(*COLUMNS, weightColumns=["id"]), *REVISIONS]):
        key = f"{REVISION_PREFIX}1"
        node = java("format.StoredRevision", "read", ("String", key), ("String", text))
        found = revisions_from_configuration({key: text})
        if 1 in found.revisions:
            columns = java("format.HashedColumns", "of", ("JsonNode", node))
            assert list(columns.indexed()) == found.revisions[1].columns, text
            assert list(columns.all()) == found.revisions[1].hashed_columns, text
        elif not node.isMissingNode():
            harmless = json.loads(text)
            for transformation in harmless["transformations"]:
                transformation["className"] = "io.qbeast.core.transform.EmptyTransformation"
            assert 1 in revisions_from_configuration({key: json.dumps(harmless)}).revisions, text


def test_a_revision_that_names_a_column_twice_can_be_used_by_neither(java):
    for text in REPEATED:
        key = f"{REVISION_PREFIX}1"
        assert java("format.StoredRevision", "read", ("String", key), ("String", text)).isMissingNode(), text
        (problem,) = revisions_from_configuration({key: text, LAST_REVISION: "1"}).problems
        assert "more than once" in problem


def test_transformers_tell_the_same_types(java):
    """Also those whose kind takes only one type, which store none."""
    key, text = f"{REVISION_PREFIX}1", revision_text(*COLUMNS)
    node = java("format.StoredRevision", "read", ("String", key), ("String", text)).path("columnTransformers")
    found = revisions_from_configuration({key: text}).revisions[1].transformers
    assert node.size() == len(found) == len(COLUMNS)
    for number, transformer in enumerate(found):
        told = java("format.StoredRevision", "typeOf", ("JsonNode", node.get(number)))
        assert told == (transformer.data_type or ""), transformer


def test_the_same_tags_tell_the_same_blocks(spark, table_path):
    log = bridge.TableLog(spark, table_path)
    odd = [
        {"revision": text, "blocks": BLOCKS[0]} for text in ["1", "01", " 1", "+1", "1.0", "0", "-1", None]
    ]
    odd += [{"revision": "1", "blocks": None}, {"blocks": BLOCKS[0]}, {"revision": "1"}, {}, None]
    for value in ("true", '"true"', "1", "null", "[true]"):
        odd.append({"revision": "1", "blocks": BLOCKS[1].replace("true", value)})
    tags = [
        each
        for each in [*odd, *drawn(HOSTILE_TAGS, 150)]
        if all(map(has_a_name_in_utf_8, (each or {}).values()))
    ]
    maps = [None if each is None else list(each.items()) for each in tags]
    frame = bridge.local_frame(spark, TAGGED, [range(len(tags)), maps])
    told = frame.select("id", log.tag_revision(F.col("tags")), log.tag_blocks(F.col("tags")))
    usable = 0
    for number, revision, blocks in told.collect():
        python = parse_tags(tags[number], lambda _: 2)
        java = [(CubeId.from_string(cube, 2), *figures) for cube, *figures in blocks]
        assert java == [
            (b.cube, b.min_weight, b.max_weight, b.element_count, b.replicated) for b in python.blocks
        ], tags[number]
        assert not java or revision == python.revision_id
        usable += bool(java)
    assert 30 < usable < len(tags) - 30


STATELESS = {name: text for name, text in LEGACY.items() if name != "state"}


def test_the_same_tags_are_marked(spark, java):
    """Damaged ones too: a file whose mark one language overlooks would be read twice by it."""
    marks = ["true", '"true"', "t", "tr", "false", "f", "null", "1", " \ttrue", ""]
    texts = [BLOCKS[1].replace("true", mark) for mark in marks]
    texts += [text[: text.rindex("}")] for text in texts] + [BLOCKS[1].replace('"cube":"wgQ",', "")]
    cases = [{"revision": revision, "blocks": text} for text in texts for revision in ("1", "x", "0")]
    states = [{"state": state} for state in ("REPLICATED", "ANNOUNCED", "FLOODED", "flooded", "")]
    cases += [
        {**tags, **state}
        for tags in ({}, {"revision": "1"}, {"revision": "x"}, STATELESS, {**STATELESS, "revision": "1"})
        for state in [{}, *states]
    ]
    for tags in [*cases, *drawn(HOSTILE_TAGS, 100)]:
        if not all(map(has_a_name_in_utf_8, tags.values())):
            continue
        in_java = ("Map", MapConverter().convert(tags, spark._sc._gateway._gateway_client))
        blocks = parse_alone(tags).blocks
        is_told = are_blocks_told(tags, blocks)
        are_marked = has_copies(blocks) if is_told else mark_of(tags) is Mark.SET
        assert java("format.FileTags", "isMarked", in_java) == are_marked, tags
        assert java("format.FileTags", "markOf", in_java).name() == mark_of(tags).name, tags


def test_the_same_texts_tell_parts(spark, java):
    odd = [
        "",
        "1",
        "1,2",
        "1,2,3",
        "1,2,3,4",
        "5,-1,1,7,1,2",
        "7,0,0,5,0,0",
        "0,0,0",
        "99,0,0",
        "100,0,0",
        "5,+1,2",
    ]
    odd += [
        "05,0,1",
        "5,0,",
        ",5,0",
        " 5,0,1",
        f"5,{-(2**31)},{2**31 - 1}",
        f"5,{-(2**31) - 1},0",
        f"5,0,{2**31}",
    ]
    rng = random.Random(1)
    some = []
    for _ in range(200):
        begins = sorted(rng.sample(range(1, 100), rng.randint(1, 3)))
        numbers = [str(number) for begin in begins for number in (begin, -5, rng.choice([0, 2**31 - 1]))]
        if rng.random() < 2 / 3:
            numbers[rng.randrange(len(numbers))] = rng.choice(["0", "99", "100", "x", "1.5", "", str(2**40)])
        some.append(",".join(numbers[: rng.choice([-1, None, None])]))
    assert 30 < sum(parse_parts_tag({TAG_PARTS: text}, 100) is not None for text in some) < 170
    for text in [*odd, *some]:
        tags = {TAG_PARTS: text}
        in_java = MapConverter().convert(tags, spark._sc._gateway._gateway_client)
        found = java("format.FileTags", "parts", ("Map", in_java), ("long", 100))
        python = parse_parts_tag(tags, 100)
        assert list(found) == [number for part in python or () for number in part], text
