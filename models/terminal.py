"""Helpers of all terminal commands: their exit codes, and how they print JSON."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable

READER_GONE = 141  # exit code of a program whose reader has gone, as shells report it: 128 + SIGPIPE


def run_command(main: Callable[[], int]) -> int:
    """Run `main`, flush its output and return its exit code; end quietly if the reader has gone, as `head` does.

    SIGPIPE itself stays ignored: a process that we talk to may end, and that must not end us.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # None for a program with windows on Windows
            # A name that this terminal cannot say; files and pipes have UTF-8 on Windows too, whatever its code page.
            stream.reconfigure(  # type: ignore[union-attr]
                encoding="utf-8" if sys.platform == "win32" and not stream.isatty() else None, errors="replace"
            )
    try:
        try:
            return main()
        finally:
            _flush()
    except BrokenPipeError:
        _redirect_to_null()
        return READER_GONE
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO) or error.filename is not None:
            raise
        _redirect_to_null(1)
        sys.stderr.write(f"chickadee: The output cannot be written: {error.strerror}.\n")
        return 1


def json_text(value: object, indent: int | None = None) -> str:
    r"""Encode as JSON with letters unescaped, unless one is a lone surrogate: then with escapes like `\ud83d`."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent)
    return text


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _redirect_to_null(*descriptors: int) -> None:
    """Redirect the output to the null device: Python flushes the rest at exit, and would complain again."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor in descriptors or (1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)
