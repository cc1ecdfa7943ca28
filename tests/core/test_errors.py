"""The family of exceptions."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest

from pyqbeast.core import errors

EVERY = [errors.QbeastError, *errors.QbeastError.__subclasses__()]


@pytest.mark.parametrize("of", [each for each in EVERY if each.__module__ == errors.__name__])
def test_an_error_of_the_jvm_can_leave_its_process(of):
    """The exception behind it, which nothing can pickle, stays."""
    error = of("there were 3 problems")
    error.thrown, error.more = threading.Lock(), "said"
    for another in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(another) is of
        assert (str(another), another.args, another.more) == (str(error), error.args, "said")
        assert another.thrown is None
