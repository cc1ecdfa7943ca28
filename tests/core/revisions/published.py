"""The published text of a revision, and the revision that it stands for."""

from __future__ import annotations

from pyqbeast.core.revisions.revision import Revision
from pyqbeast.core.transform.hashing import Hash
from pyqbeast.core.transform.linear import Linear
from pyqbeast.core.transform.registry import transformer_for

INT, STRING = "IntegerDataType", "StringDataType"
TEXT = (
    '{"revisionID":1,"timestamp":1637851757680,"tableID":"/tmp/t","desiredCubeSize":5000,"columnTransformers":['
    '{"className":"io.qbeast.core.transform.LinearTransformer","columnName":"a","dataType":"IntegerDataType"},'
    '{"className":"io.qbeast.core.transform.HashTransformer","columnName":"b","dataType":"StringDataType"}],'
    '"transformations":[{"className":"io.qbeast.core.transform.LinearTransformation","minNumber":1,"maxNumber":10,'
    '"nullValue":5,"orderedDataType":"IntegerDataType"},'
    '{"className":"io.qbeast.core.transform.HashTransformation","nullValue":-7}]}'
)
REVISION = Revision(
    1,
    1637851757680,
    "/tmp/t",
    5000,
    (transformer_for("a", "linear", INT), transformer_for("b", "hashing", STRING)),
    (Linear(INT, 1, 10, 5), Hash(-7)),
)
