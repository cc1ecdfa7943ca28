"""An indexed table is what a plain Delta table is: a state machine over all that the fuzzer knows to do.

`make fuzz` does the same for as long as one likes, with settings of the session besides.
"""

from __future__ import annotations

import random
import shutil
import warnings

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.fuzz import creation
from tests.fuzz.cases import OPERATIONS, carry_out
from tests.fuzz.judge import NoTableError
from tests.fuzz.settings import QUICK
from tests.fuzz.shapes import random_shape
from tests.fuzz.twin import Pair
from tests.spark_session import under

_SEEDS = st.integers(0, 2**32 - 1)
_DRAWN = [make for make, often in OPERATIONS.items() for _ in range(often)]


def test_an_indexed_table_is_what_a_plain_one_is(spark, tmp_path):
    folders = (tmp_path / str(number) for number in range(10_000))

    class Tables(RuleBasedStateMachine):
        """Two tables that are treated alike, and compared after each step."""

        pair = None

        @initialize(seed=_SEEDS)
        def make(self, seed):
            rng = random.Random(seed)
            folder = next(folders)
            folder.mkdir()
            self.pair = Pair(spark, folder, random_shape(rng, None), None)
            self.do(creation.create, rng)

        @precondition(lambda self: self.pair is not None)
        @rule(make=st.sampled_from(_DRAWN), seed=_SEEDS)
        def change(self, make, seed):
            self.do(make, random.Random(seed))

        def do(self, make, rng):
            operation = make(self.pair, rng)
            try:
                carry_out(self.pair, operation, {}, rng, [])
            except NoTableError:
                self.teardown()
            except Exception as error:
                error.add_note(operation.text)
                raise

        def teardown(self):
            if self.pair is not None:
                shutil.rmtree(self.pair.folder, ignore_errors=True)
            self.pair = None

    with under(spark, QUICK), warnings.catch_warnings():
        warnings.simplefilter("default")
        run_state_machine_as_test(
            Tables,
            settings=settings(
                max_examples=1,
                stateful_step_count=2,
                derandomize=True,
                phases=(Phase.generate, Phase.shrink),
            ),
        )
