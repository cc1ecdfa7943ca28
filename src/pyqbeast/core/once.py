"""What an object works out when it is first asked for, and keeps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

Of = TypeVar("Of")
Value = TypeVar("Value")


def once(compute: Callable[[Of], Value]) -> Callable[[Of], Value]:
    """A method without arguments whose result the object keeps; below `@property`, with no lock.

    `functools.cached_property` has one before Python 3.12, for all objects of a class: while one waits for its store,
    all others would wait, too, and a process that is forked meanwhile for ever.
    """
    name = compute.__name__

    @functools.wraps(compute)
    def kept(of: Of) -> Value:
        values = vars(of)
        if name in values:
            found: Value = values[name]
            return found
        # Two threads that compute it at once both take what comes first: others may hold parts of it.
        first: Value = values.setdefault(name, compute(of))
        return first

    return kept
