"""Tables with replicated cubes whose log is damaged: no row is given out twice. `test_with_spark.py` asks Spark too."""

from __future__ import annotations

import re

import pytest

from pyqbeast.core.errors import UnsupportedError
from pyqbeast.core.problems import REPLICATED
from pyqbeast.verification.without_spark import verify_log
from tests.scanning.damaged_copies import DAMAGES, ROWS, planted, rows_and_ids


@pytest.mark.parametrize("has_blocks", [False, True], ids=["old tags", "tags of today"])
@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_no_row_is_given_out_twice(golden, tmp_path, damage, has_blocks):
    path = planted(golden, tmp_path / "t", damage, has_blocks)
    if damage.told is None:
        assert rows_and_ids(path) == (ROWS, ROWS)
    else:
        with pytest.raises(UnsupportedError, match=damage.told):
            rows_and_ids(path)
        (problem,) = verify_log(path).problems
        assert problem.rule == REPLICATED
        assert re.match(damage.told, problem.text)
