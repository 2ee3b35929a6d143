"""The first look at a model file is taken by a process of its own: a library that the file brings down, or that takes
all memory for it, does so there, and the user reads a sentence. Loads no library.

What was looked at once is remembered, per file and version of the library, and not looked at again. Nor is the model
that comes with Chickadee, which is trusted as its code is.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import IO, TypeVar

import msgspec
import psutil

from common.failures import Failure
from common.sentences import Sentence
from common.store import Store
from engine.loading.libraries import BESIDE, PACKAGES, SHOWN
from engine.machine import library_version, memory
from engine.protocol import BackendName
from engine.run_subprocess import start_apart, until_it_ends
from engine.stop import Stopped
from models.default import default_model
from models.header import Header
from models.identity import file_identity

log = logging.getLogger("engine.first_look")

T = TypeVar("T")
Headers = tuple[Header, ...]  # of all files of a model, the first one first

MOST_SECONDS = 30.0  # of a processor; a usual file takes one
MOST_WAITING = 300.0  # seconds on a clock; a busy computer takes long for one
MOST_BYTES = 1 << 30  # resident, besides the file's own; a usual file takes 0.2 GB
SAID = 4000  # bytes: the end of what it said last
KILLED = int(getattr(signal, "SIGKILL", 9))
REFUSED = 2  # exit code: a Refusal was printed

Look = tuple[str, ...]  # what a look depends on: the library, its version, the identities of the file and its parts
PASSED = Store("looked-at", 2, bool, most_entries=2000)  # the version is also of what is looked at


class Refusal(msgspec.Struct, frozen=True):
    """The Failure that the process came upon, as it prints it."""

    sentence: Sentence
    detail: str


def first_look(headers: Headers, backend: BackendName) -> Iterator[None]:
    """Look at the model with the library of `backend`, unless that was done before; yields again and again meanwhile.

    The process has started at the first yield, and is killed when the iterator is closed. Raises Failure for a file
    that is no model, or brings the library down."""
    path, look = headers[0].path, look_of(headers, backend)
    if look is None or PASSED.get(*look):
        return
    with tempfile.TemporaryFile() as said:
        arguments = ("look", "--backend", BESIDE.get(backend, backend), "--", str(path.absolute()))
        try:
            process = start_apart(*arguments, stdout=subprocess.PIPE, stderr=said, own_group=True)
        except OSError as error:
            raise Failure("out_of_memory.no_process", str(error), name=path.name) from error
        with process:
            code = yield from _watched(process, path, backend)
            assert process.stdout
            if code:
                raise _failure(path, backend, code, process.stdout.read(), _last_words(said))
    _remember(look)


def meanwhile(
    work: Callable[[], T],
    models: Iterable[Headers | None],
    backend: BackendName,
    stop: Callable[[], bool] = lambda: False,
) -> T:
    """What `work` returns, which is done beside the first look at the models: to import a library takes as long.

    Raises what it raises, Failure as `first_look` does, and Stopped once `stop` says so."""
    with contextlib.closing(_first_looks(models, backend)) as looks:
        next(looks, None)
        done = work()
        for _ in looks:
            if stop():
                raise Stopped
        return done


def _first_looks(models: Iterable[Headers | None], backend: BackendName) -> Generator[None, None, None]:
    for headers in models:
        if headers is not None:
            yield from first_look(headers, backend)


def _watched(process: subprocess.Popen[bytes], path: Path, backend: BackendName) -> Generator[None, None, int]:
    """Until it ends, with its exit code as the value. Raises Failure where it takes too much."""
    until = time.monotonic() + MOST_WAITING
    most = min(MOST_BYTES + path.stat().st_size, memory().total)
    with contextlib.closing(until_it_ends(process)) as ends:
        for code in ends:
            if code is not None:
                return code
            seconds, resident = _taken(process.pid)
            if seconds > MOST_SECONDS or time.monotonic() > until:
                raise Failure(
                    "bad_model.unending_header",
                    f"{seconds} s of a processor",
                    name=path.name,
                    library=_library(backend),
                )
            if resident > most:
                raise Failure(
                    "bad_model.filling_header", f"more than {most} bytes with {_library(backend)}", name=path.name
                )
            yield
    raise AssertionError("it neither ended nor went on")


def _taken(pid: int) -> tuple[float, int]:
    """Seconds of processors, and resident bytes; nothing of a process that has just ended."""
    try:
        process = psutil.Process(pid)
        times = process.cpu_times()
        return times.user + times.system, int(process.memory_info().rss)
    except psutil.Error:
        return 0.0, 0


def _failure(path: Path, backend: BackendName, code: int, printed: bytes, said: str) -> Failure:
    """Why the process ended with `code`: it says so, or was brought down."""
    if code == REFUSED:
        with contextlib.suppress(msgspec.MsgspecError):
            refusal = msgspec.json.decode(printed, type=Refusal)
            return Failure(refusal.sentence, refusal.detail)
    log.warning("the first look at %s ended with code %d: %s", path, code, said)
    if code == -KILLED:
        return Failure("out_of_memory.while_checking", said, name=path.name)
    return Failure("bad_model.crashes", f"code {code}: {said}", name=path.name, library=_library(backend))


def _library(backend: BackendName) -> str:
    return SHOWN[BESIDE.get(backend, backend)]


def _last_words(said: IO[bytes]) -> str:
    """The end of what the process wrote to `said`: a library's assertion that failed."""
    said.seek(max(0, said.seek(0, os.SEEK_END) - SAID))
    return said.read().decode(errors="replace")


# --- what is remembered ---


def look_of(headers: Headers, backend: BackendName) -> Look | None:
    """What stands for a look at these very bytes; None where none is needed. Raises Failure."""
    if _is_built_in(headers[0].path):
        return None
    package = PACKAGES[BESIDE.get(backend, backend)]
    return package, library_version(package), *(file_identity(header.path, header.data_offset) for header in headers)


def _is_built_in(path: Path) -> bool:
    with contextlib.suppress(Failure, OSError, ValueError):  # no such model installed, no such file, no such name
        return path.samefile(default_model())
    return False


def _remember(look: Look) -> None:
    """Where nothing can be written, the file is looked at again."""
    try:
        PASSED.put(True, *look)
    except OSError as error:
        log.warning("Models will be looked at again: %s cannot be written (%s).", PASSED.folder, error.strerror)
