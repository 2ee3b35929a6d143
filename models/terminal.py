"""What all commands of the terminal have in common: how they end, and how they print JSON."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable

READER_GONE = 141  # what a shell says of a program that ended because nobody read it: 128 + SIGPIPE


def run_command(main: Callable[[], int]) -> int:
    """The exit code of `main`, with all it printed written out. Quiet when the reader has gone, as `head` does.

    SIGPIPE itself stays ignored: a process that we talk to may end, and that must not end us."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # a window's program on Windows has none
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # a name that this terminal cannot say
    try:
        try:
            return main()
        finally:
            _flush()
    except BrokenPipeError:
        _write_to_nothing()
        return READER_GONE
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO) or error.filename is not None:
            raise
        _write_to_nothing(1)
        sys.stderr.write(f"chickadee: The output cannot be written: {error.strerror}.\n")
        return 1


def json_text(value: object, indent: int | None = None) -> str:
    """Its letters as they are, unless one is none: a program that sends half of a pair gets `\\ud83d` back."""
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


def _write_to_nothing(*descriptors: int) -> None:
    """Python writes out what is left when it ends, and would complain again."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor in descriptors or (1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)
