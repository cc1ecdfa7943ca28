"""Pre-commit hooks: functions of the user's that see the actions of a commit before it lands, and add tags to it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from pyqbeast import bridge
from pyqbeast.core.errors import InvalidInputError

#: A hook takes Delta's actions, each a dict with its kind (`add`, `remove`, `metaData`, …) as the only key, and
#: returns tags, whose values become texts.
PreCommitHook = Callable[[list[dict[str, Any]]], Mapping[str, object] | None]

#: The setting that lets options of a write name hooks. Its value at the start of the Spark context counts,
#: because any client of a server can change the settings of a session later.
FROM_OPTIONS_SETTING = "spark.qbeast.hooks.fromOptions"

_of_tables: dict[str, dict[str, PreCommitHook]] = {}


def add_hook(path: str, name: str, function: PreCommitHook) -> None:
    """Makes `function` run before each later commit of this process to the table at an absolute path."""
    if not callable(function):
        raise InvalidInputError(f"pre-commit hook {name!r} has to be a function, not {function!r}")
    _of_tables.setdefault(path, {})[name] = function


def hook_tags(transaction: bridge.Transaction, more: Mapping[str, PreCommitHook]) -> dict[str, str]:
    """Runs the hooks of a table, and `more`, and joins their tags.

    Raises:
        InvalidInputError: a hook returns no tags.
        Exception: whatever a hook raises.
    """
    hooks = {**_of_tables.get(transaction.path, {}), **more}
    tags: dict[str, str] = {}
    actions = transaction.actions() if hooks else []
    for name, function in hooks.items():
        returned = function(actions) or {}
        if not isinstance(returned, Mapping):
            raise InvalidInputError(
                f"pre-commit hook {name!r} has to return a dict of tags or None, not {returned!r}"
            )
        tags.update({str(key): str(value) for key, value in returned.items()})
    return tags


def named_hooks(spark: SparkSession, options: Mapping[str, str]) -> dict[str, PreCommitHook]:
    """Hooks of `qbeastPreCommitHook.<name>` = `module.function`; `….<name>.arg` is its second argument.

    Raises:
        InvalidInputError: the server does not let options name functions, or an option names something else.
    """
    if options and spark.sparkContext.getConf().get(FROM_OPTIONS_SETTING, "false") != "true":
        raise InvalidInputError(
            f"option {min(options)} names a function for the driver to run, which it does for no client unless it was "
            f"started with {FROM_OPTIONS_SETTING}=true; a hook of the driver's own Python needs no setting: "
            "QbeastTable.add_pre_commit_hook"
        )
    by_key = {key.lower(): value for key, value in options.items()}
    hooks: dict[str, PreCommitHook] = {}
    for key, path in by_key.items():
        if key.endswith(".arg"):
            continue
        function, argument = _imported(key, path), by_key.get(key + ".arg")
        if argument is None:
            hooks[key] = function
        else:
            hooks[key] = lambda actions, f=function, a=argument: f(actions, a)  # type: ignore[misc]
    return hooks


def _imported(key: str, path: str) -> Callable[..., Any]:
    module, _, name = path.rpartition(".")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInputError(
            f"option {key} has to name a function as module.function, not {path!r}: {error}"
        ) from None
    return function  # type: ignore[no-any-return]
