"""Transformers: stored texts, default kinds, and which transformation statistics lead to."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from pyqbeast.core.errors import FormatError, InvalidInputError
from pyqbeast.core.format.json_text import compact_json
from pyqbeast.core.format.types import ALL_TYPES
from pyqbeast.core.transform.base import ColumnStatistics
from pyqbeast.core.transform.empty import Empty, EmptyTransformer
from pyqbeast.core.transform.hashing import Hash
from pyqbeast.core.transform.linear import Identity, Linear
from pyqbeast.core.transform.quantiles import NumericQuantiles
from pyqbeast.core.transform.registry import TRANSFORMERS, transformer_for, transformer_from_json
from pyqbeast.core.transform.text_quantiles import StringHistogram, StringQuantiles

INT, LONG, DOUBLE, FLOAT, STRING = (
    f"{name}DataType" for name in ("Integer", "Long", "Double", "Float", "String")
)
PACKAGE = "io.qbeast.core.transform."

TEXTS = [
    (
        transformer_for("a", "linear", INT),
        'LinearTransformer","columnName":"a","dataType":"IntegerDataType"}',
    ),
    (
        transformer_for("b", "hashing", STRING),
        'HashTransformer","columnName":"b","dataType":"StringDataType"}',
    ),
    (
        transformer_for("q", "quantiles", DOUBLE),
        'CDFNumericQuantilesTransformer","columnName":"q","orderedDataType":"DoubleDataType"}',
    ),
    (transformer_for("q", "quantiles", STRING), 'CDFStringQuantilesTransformer","columnName":"q"}'),
    (
        transformer_for("h", "histogram", STRING),
        'StringHistogramTransformer","columnName":"h","dataType":"StringDataType"}',
    ),
    (EmptyTransformer("e"), 'EmptyTransformer","columnName":"e"}'),
]


@pytest.mark.parametrize(("transformer", "text"), TEXTS)
def test_json(transformer, text):
    assert compact_json(transformer.to_json()) == f'{{"className":"{PACKAGE}{text}'
    assert transformer_from_json(transformer.to_json()) == transformer


@pytest.mark.parametrize(
    "fields",
    [
        {"className": PACKAGE + "OtherTransformer", "columnName": "a"},
        {"className": PACKAGE + "LinearTransformer", "columnName": "a"},
        {"className": PACKAGE + "LinearTransformer", "columnName": "a", "dataType": "int"},
        {"className": PACKAGE + "EmptyTransformer"},
    ],
)
def test_broken_texts_are_refused(fields):
    with pytest.raises(FormatError):
        transformer_from_json(fields)


def test_defaults_and_spec():
    assert transformer_for("s", None, STRING).spec == "s:hashing"
    assert transformer_for("d", None, "DateDataType").spec == "d:linear"
    assert transformer_for("d", "quantiles", "DateDataType").spec == "d:quantiles"


def test_a_name_and_a_type_stand_for_one_kind():
    chosen = [(each.kind, data_type) for each in TRANSFORMERS for data_type in each.types]
    assert len(set(chosen)) == len(chosen)
    assert {data_type for _, data_type in chosen} == ALL_TYPES


@pytest.mark.parametrize(
    ("kind", "data_type"),
    [("linear", STRING), ("histogram", INT), ("hashing", "DateDataType"), ("hashing", "TimestampDataType")],
)
def test_kinds_that_do_not_go_with_a_type_are_refused_with_advice(kind, data_type):
    with pytest.raises(InvalidInputError, match=rf"'c' of {data_type} cannot be indexed by {kind}: use "):
        transformer_for("c", kind, data_type)


def build(kind, data_type, **statistics):
    return transformer_for("c", kind, data_type).build(ColumnStatistics(**statistics), random.Random(3))


def test_a_range_becomes_linear_with_a_stand_in_inside():
    built = build("linear", INT, minimum=0, maximum=10)
    assert isinstance(built, Linear)
    assert 0 <= built.null_value <= 10
    built = build("linear", "DecimalDataType", minimum=Decimal("1.5"), maximum=Decimal(9))
    assert (built.minimum, built.maximum) == (1.5, 9.0)
    assert build("linear", FLOAT, minimum=0.1, maximum=9.0).minimum == 0.10000000149011612


@pytest.mark.parametrize(("low", "high", "value"), [(4, 4, 4), (None, None, None), (2**53, 2**53 + 1, 2**53)])
def test_without_a_range_there_is_an_identity(low, high, value):
    assert build("linear", LONG, minimum=low, maximum=high) == Identity(LONG, value)


def test_bounds_that_are_not_finite_are_refused():
    with pytest.raises(InvalidInputError, match="'c' have to be finite"):
        build("linear", DOUBLE, minimum=float("nan"), maximum=1.0)


def test_the_other_kinds():
    assert isinstance(build("hashing", STRING), Hash)
    assert build("quantiles", INT, quantiles=(1, 2, 3)) == NumericQuantiles((1.0, 2.0, 3.0), INT)
    assert build("quantiles", STRING, quantiles=("a", "b")) == StringQuantiles(("a", "b"))
    assert build("quantiles", STRING) == Empty()
    assert build("histogram", STRING).is_default
    assert build("histogram", STRING, histogram=("a", "b")) == StringHistogram(("a", "b"))
    assert EmptyTransformer("c").build(ColumnStatistics(), random.Random(3)) == Empty()


@pytest.mark.parametrize(
    ("data_type", "quantiles"), [(INT, ("a", "b")), (STRING, (1.0, 2.0)), (INT, (1.0,)), (STRING, ("a", 1.0))]
)
def test_quantiles_of_another_kind_are_refused(data_type, quantiles):
    with pytest.raises(InvalidInputError, match="c_quantiles has to be a list of at least two"):
        build("quantiles", data_type, quantiles=quantiles)
