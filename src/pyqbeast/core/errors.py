"""The exceptions of pyqbeast: one family, each class also a built-in kind.

A message says what is wrong, where, and what to do about it.
"""

from __future__ import annotations

from pyqbeast.core.secrets import without_secrets


class QbeastError(Exception):
    """The base of every exception that pyqbeast raises on purpose. Messages show no secrets of URLs.

    Attributes:
        thrown: the exception of the JVM behind it; None where there is none, and in another process.
    """

    thrown: object = None

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(without_secrets(each) if isinstance(each, str) else each for each in arguments))

    def __reduce__(self) -> tuple[object, ...]:
        # Another process has no way to the exception of this one's JVM.
        state = {name: value for name, value in vars(self).items() if name != "thrown"}
        return (*super().__reduce__()[:2], state)


class InvalidInputError(QbeastError, ValueError):
    """An option, argument or column that cannot be used as given."""


class FormatError(QbeastError, ValueError):
    """Stored bytes or text (a revision, a block tag, a vector, a fragment) that do not follow their format."""


class TableNotFoundError(QbeastError, FileNotFoundError):
    """There is no table where one was expected."""


class TableExistsError(QbeastError, FileExistsError):
    """There is a table already where a new one was to be written."""


class NotIndexedError(QbeastError, LookupError):
    """The table exists and is not indexed, or has no such revision, cube or file."""


class SessionError(QbeastError, RuntimeError):
    """The Spark session, the JVM or the versions in it cannot run pyqbeast."""


class CommitConflictError(QbeastError, RuntimeError):
    """Another writer changed the table so that this write could not land; nothing was written."""


class StorageError(QbeastError, OSError):
    """A file could not be read or written. Unless it says otherwise, the table is as it was."""


class UncertainWriteError(QbeastError, RuntimeError):
    """A write may have landed: storage failed in the middle of its commit, and then did not tell what became of it.

    The message says where to look before writing again, or the rows may be there twice. A write to a table with the
    options `txnAppId` and `txnVersion` can be repeated without looking.
    """


class ExecutionError(QbeastError, RuntimeError):
    """Spark or Delta failed in the middle of something. Unless it says otherwise, the table is as it was."""


class MissingPackageError(QbeastError, ImportError):
    """What was asked for needs a package of an extra that is not installed; the message says which to install."""


class UnsupportedError(QbeastError, NotImplementedError):
    """A feature of a format, or a kind of query, that pyqbeast knows of and does not support."""
