"""The format of log entries and of exceptions in them. A log never contains what a user wrote.

The message of an exception may quote a text: `int("…")` does, and so does the name of a file in an OSError. Only the
messages that Python makes of the program's own names are logged.
"""

from __future__ import annotations

import logging
import traceback
from errno import errorcode

MESSAGES_OF_CODE = (
    AttributeError, ImportError, IndexError, ModuleNotFoundError, NameError, NotImplementedError, RecursionError,
    TypeError, UnboundLocalError, ZeroDivisionError,
)  # fmt: skip
MOST_CAUSES = 10


class PrivateFormatter(logging.Formatter):
    """A formatter that leaves the messages of exceptions out."""

    def format(self, record: logging.LogRecord) -> str:
        kept, record.exc_text = record.exc_text, None  # what another handler's formatter has made of the exception
        try:
            return super().format(record)
        finally:
            record.exc_text = kept

    def formatException(self, ei: object) -> str:
        error = ei[1] if isinstance(ei, tuple) else None
        return traceback_of(error) if isinstance(error, BaseException) else ""


def traceback_of(error: BaseException) -> str:
    """Return the frames and kinds of the exception and its causes, the first cause at the top, without messages."""
    parts: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(parts) < MOST_CAUSES:
        parts.insert(0, "".join(traceback.format_tb(cause.__traceback__)) + kind_of(cause))
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return "\n\nwhich led to:\n\n".join(parts)


def kind_of(error: BaseException) -> str:
    """Return the exception's class and, if there is one, the error's name in the system or in SQLite."""
    name = type(error).__qualname__
    if type(error) in MESSAGES_OF_CODE:
        return f"{name}: {error}"
    if isinstance(error, OSError) and error.errno in errorcode:
        return f"{name} {errorcode[error.errno or 0]}"
    return f"{name} {getattr(error, 'sqlite_errorname', '') or ''}".rstrip()
