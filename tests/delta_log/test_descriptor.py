import base64
import dataclasses
import json
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.delta import DeletionVectorDescriptor

# The examples of the Delta protocol document.
ON_DISK = (
    '{"storageType":"u","pathOrInlineDv":"ab^-aqEH.-t@S}K{vb[*k^",'
    '"offset":4,"sizeInBytes":40,"cardinality":6}'
)
INLINE = (
    '{"storageType":"i","pathOrInlineDv":"wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",'
    '"sizeInBytes":40,"cardinality":6}'
)
FIELDS = {"storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality", "maxRowIndex"}
ID = uuid.UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")


def on_disk(**changes):
    values = {"random_prefix": "ab", "size_in_bytes": 40, "cardinality": 6, "offset": 4} | changes
    return DeletionVectorDescriptor.on_disk_with_relative_path(ID, **values)


def absolute(path="s3://mytable/dv.bin", **changes):
    values = {"size_in_bytes": 40, "cardinality": 6} | changes
    return DeletionVectorDescriptor.on_disk_with_absolute_path(path, **values)


def test_the_protocol_example_of_a_file():
    descriptor = DeletionVectorDescriptor.from_json(ON_DISK)
    assert descriptor == on_disk()
    assert descriptor.is_on_disk
    assert not descriptor.is_inline
    assert descriptor.unique_id == "uab^-aqEH.-t@S}K{vb[*k^@4"
    assert descriptor.to_json() == ON_DISK
    path = "s3://mytable/ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert descriptor.absolute_path("s3://mytable/") == path
    assert descriptor.copy_with_absolute_path("s3://mytable/") == dataclasses.replace(
        descriptor, storage_type="p", path_or_inline_dv=path
    )


def test_the_protocol_example_of_an_inline_vector():
    descriptor = DeletionVectorDescriptor.from_json(INLINE)
    assert descriptor.is_inline
    assert not descriptor.is_on_disk
    assert descriptor.inline_data().hex().startswith("6439d3d0")
    assert DeletionVectorDescriptor.inline_in_log(descriptor.inline_data(), 6) == descriptor
    assert descriptor.copy_with_absolute_path("/table") == descriptor
    with pytest.raises(InvalidInputError, match="has no path"):
        descriptor.absolute_path("/table")


def test_the_empty_vector():
    assert DeletionVectorDescriptor("i", "", None, 0, 0) == DeletionVectorDescriptor.EMPTY
    assert DeletionVectorDescriptor.EMPTY.inline_data() == b""


def test_without_prefix_the_file_lies_in_the_table_itself():
    name = f"deletion_vector_{ID}.bin"
    assert on_disk(random_prefix="").absolute_path("/data/t") == f"/data/t/{name}"
    assert DeletionVectorDescriptor.assemble_path("/data/t", ID) == f"/data/t/{name}"
    assert DeletionVectorDescriptor.assemble_path("/data/t", ID, "xy") == f"/data/t/xy/{name}"


def test_an_absolute_path_is_url_encoded_in_the_log():
    assert absolute("file:/my%20table/dv.bin").absolute_path("/elsewhere") == "file:/my table/dv.bin"
    copy = on_disk(random_prefix="").copy_with_absolute_path("/100% mine")
    assert copy.path_or_inline_dv.startswith("/100%25%20mine/")
    assert copy.absolute_path("/elsewhere") == on_disk(random_prefix="").absolute_path("/100% mine")


def test_inline_data_is_cut_to_its_size():
    descriptor = DeletionVectorDescriptor.inline_in_log(b"seven b", 1)
    assert len(descriptor.path_or_inline_dv) == 10
    assert descriptor.inline_data() == b"seven b"
    with pytest.raises(InvalidInputError, match="in a file"):
        on_disk().inline_data()


def test_it_is_an_immutable_value():
    with pytest.raises(dataclasses.FrozenInstanceError):
        on_disk().cardinality = 7
    assert len({on_disk(), on_disk(), on_disk(offset=5)}) == 2


def test_an_absent_number_is_not_part_of_the_json():
    assert json.loads(absolute().to_json()).keys() == FIELDS - {"offset", "maxRowIndex"}
    assert DeletionVectorDescriptor.from_json(absolute().to_json()[:-1] + ',"offset":null}') == absolute()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("storageType", "x"),
        ("storageType", "U"),
        ("storageType", ""),
        ("storageType", None),
        ("storageType", 3),
        ("pathOrInlineDv", None),
        ("pathOrInlineDv", "ab^-aqEH.-t@S}K{vb["),
        ("pathOrInlineDv", "ab^-aqEH.-t@S}K{vb[*k_"),
        ("offset", -1),
        ("offset", 2**31),
        ("sizeInBytes", None),
        ("sizeInBytes", 2**31),
        ("sizeInBytes", "40"),
        ("sizeInBytes", 4.0),
        ("cardinality", True),
        ("cardinality", -1),
        ("cardinality", 2**63),
        ("maxRowIndex", -5),
    ],
)
def test_a_field_that_cannot_be_is_named(field, value):
    struct = json.loads(ON_DISK) | {field: value}
    with pytest.raises(FormatError, match=field):
        DeletionVectorDescriptor.from_json(json.dumps(struct))


def test_fields_that_contradict_each_other():
    with pytest.raises(FormatError, match="offset"):
        DeletionVectorDescriptor("i", "", 4, 0, 0)
    with pytest.raises(FormatError, match="sizeInBytes"):
        DeletionVectorDescriptor.from_json(INLINE.replace("40", "36"))
    with pytest.raises(FormatError, match="absolute"):
        absolute("sub/dv.bin")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "7", '"u"', "[" * 100_000, "9" * 5000, "{}"])
def test_json_that_is_no_descriptor(text):
    with pytest.raises(FormatError):
        DeletionVectorDescriptor.from_json(text)


@pytest.mark.parametrize(
    "descriptor",
    [
        on_disk(),
        on_disk(offset=None),
        absolute("file:/zwölf/\0/😀.bin", offset=2**31 - 1, cardinality=2**40),
        DeletionVectorDescriptor.inline_in_log(b"12345", 3),
        DeletionVectorDescriptor.EMPTY,
    ],
)
def test_the_compact_form_comes_back(descriptor):
    assert DeletionVectorDescriptor.from_base64(descriptor.to_base64()) == descriptor
    assert DeletionVectorDescriptor.from_base64(descriptor.to_base64().encode()) == descriptor


def test_the_compact_form_is_in_the_utf_8_of_java():
    """An emoji as Delta 4.4.0 writes it, in twice three bytes; NUL takes two."""
    descriptor = absolute("file:/a%20b/é😀'\"<>/x.bin", cardinality=2**40 + 6)
    assert descriptor.to_base64() == "AAABAAAAAAYAAAAoUAAeZmlsZTovYSUyMGIvw6ntoL3tuIAnIjw+L3guYmlu"
    assert base64.b64decode(absolute("/\0").to_base64()).endswith(b"\0\3/\xc0\x80")


def test_the_compact_form_leaves_the_largest_row_out():
    descriptor = on_disk(max_row_index=77)
    back = DeletionVectorDescriptor.from_base64(descriptor.to_base64())
    assert back == dataclasses.replace(descriptor, max_row_index=None)


def test_the_compact_form_has_a_limit():
    with pytest.raises(InvalidInputError, match="65535"):
        DeletionVectorDescriptor.inline_in_log(bytes(60_000), 3).to_base64()


@given(st.binary(max_size=60))
def test_random_bytes_are_refused_as_a_compact_form(data):
    with pytest.raises(FormatError):
        DeletionVectorDescriptor.from_base64(base64.b64encode(data).decode())


def test_a_compact_form_cut_anywhere_is_refused():
    text = on_disk().to_base64()
    for length in range(len(text)):
        with pytest.raises(FormatError):
            DeletionVectorDescriptor.from_base64(text[:length])


VALUES = (
    st.sampled_from(["u", "i", "p", "", None, True, [], {}, 4.5])
    | st.integers()
    | st.text("ab%/:#$", max_size=25)
)


@pytest.mark.slow
@given(
    st.sampled_from([INLINE, ON_DISK]), st.dictionaries(st.sampled_from(sorted(FIELDS)), VALUES, min_size=1)
)
def test_random_fields_are_read_or_refused(text, changes):
    try:
        descriptor = DeletionVectorDescriptor.from_json(json.dumps(json.loads(text) | changes))
    except FormatError:
        return
    assert DeletionVectorDescriptor.from_json(descriptor.to_json()) == descriptor
