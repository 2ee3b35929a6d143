"""The process that reads one file: `python -m app.attachments.child PATH [PIXELS]` writes one line of JSON and ends.

PIXELS: about the most that a picture may keep; without it pictures are refused, because the model cannot see. With
PAGE as the path, the process reads a web page that was fetched, as a line of the engine's protocol on its stdin.

A hostile file can make a library compute for ever or fill the memory; here that ends this process, not the window's.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from pathlib import Path

import msgspec
import psutil

from app.attachments import PAGE
from app.attachments.attachment import Refused
from app.attachments.extraction import Extracted, read_file, read_page
from common.confinement import Rights, confine
from common.log_format import traceback_of
from engine.protocol.events import PageRead
from engine.protocol.lines import decode_event

MOST_MEMORY = 1 << 30  # bytes
ROOM = 1 << 30  # bytes of address space for mapped but unused memory
MOST_SECONDS = 60.0
_writing = threading.Lock()
log = logging.getLogger(__name__)


class Reply(msgspec.Struct):
    """The output of the process: the file's text, or why there is none. `title`: of a web page."""

    file: Extracted | None = None
    title: str = ""
    refused: str = ""
    values: dict[str, str] = {}


def read_confined(path: str, pixels: int = 0) -> int:
    """Confine this process and read the file: it reads nothing else but its program, writes and starts nothing."""
    read = () if path == PAGE else (Path(path),)
    confine(Rights(read=read, processes=False, memory=MOST_MEMORY))
    return main(path, pixels=pixels)


def main(path: str, seconds: float = MOST_SECONDS, memory: int = MOST_MEMORY, pixels: int = 0) -> int:
    _limit_memory(memory + ROOM)
    threading.Thread(target=_watch, args=(seconds, memory), daemon=True).start()
    try:
        _reply(_page() if path == PAGE else Reply(read_file(Path(path), pixels)))
    except Refused as refused:
        _reply(Reply(refused=refused.code, values=refused.values))
    except MemoryError:
        _reply(Reply(refused="memory"))
    except Exception as error:  # noqa: BLE001 - a hostile file can make the libraries raise anything
        log.error("a file cannot be read:\n%s", traceback_of(error))
        _reply(Reply(refused="damaged"))
    return 0


def _page() -> Reply:
    """Read the page on stdin."""
    page = decode_event(sys.stdin.buffer.readline())
    assert isinstance(page, PageRead), page
    return Reply(*read_page(page))


def _reply(reply: Reply) -> None:
    line = msgspec.json.encode(reply)
    with _writing:
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()


def _limit_memory(most: int) -> None:
    """Limit the address space where the system can, so that a huge allocation fails before it is used."""
    try:
        import resource
    except ImportError:  # Windows
        return
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _watch(seconds: float, memory: int) -> None:
    until = time.monotonic() + seconds
    process = psutil.Process()
    while True:
        time.sleep(0.05)
        over = "slow" if time.monotonic() > until else "memory" if process.memory_info().rss > memory else ""
        if over:
            _reply(Reply(refused=over))
            os._exit(0)


if __name__ == "__main__":
    sys.exit(read_confined(sys.argv[1], *map(int, sys.argv[2:3])))
