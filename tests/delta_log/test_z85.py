import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.core.errors import FormatError
from pyqbeast.delta_log import z85


def test_the_vector_of_the_rfc():
    data = bytes([0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B])
    assert z85.encode(data) == "HelloWorld"
    assert z85.decode("HelloWorld") == data


@given(st.binary(max_size=50))
def test_bytes_come_back_with_their_padding(data):
    assert z85.decode(z85.encode(data)) == data + bytes(-len(data) % 4)


@pytest.mark.parametrize("foreign", ["_", "~", "`", "|", ";", ",", '"', "'", "\\", " ", "\0", "é", "😀"])
def test_a_foreign_character_is_named(foreign):
    with pytest.raises(FormatError, match="alphabet") as error:
        z85.decode(f"wi5{foreign}=")
    assert repr(foreign) in str(error.value)


@pytest.mark.parametrize("text", ["w", "wi5b", "wi5b=0"])
def test_a_length_that_is_no_multiple_of_five(text):
    with pytest.raises(FormatError, match="multiple of 5"):
        z85.decode(text)


def test_five_characters_over_32_bits():
    assert z85.decode("%nSc0") == b"\xff\xff\xff\xff"
    with pytest.raises(FormatError, match="32 bits"):
        z85.decode("%nSc1")


@given(st.text(max_size=40))
def test_any_text_is_decoded_or_refused(text):
    try:
        data = z85.decode(text)
    except FormatError:
        return
    assert z85.encode(data) == text
