"""The first look: a process of its own loads an unknown model file first. This module loads no library.

A file that crashes a library, or makes it take all memory, does so in that process, and the user reads a sentence.

A look that passed is remembered per file and version of the library, and not repeated. The model that comes with
Chickadee needs none: it is trusted as Chickadee's code is.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec
import psutil

from common.failures import Failure
from common.paths import display_name
from common.sentences import Sentence
from common.store import Store
from engine.loading.libraries import BACKEND_TITLES, PACKAGES, SHARED_LIBRARY
from engine.machine import library_version, memory
from engine.protocol.requests import BackendName
from engine.run_subprocess import poll_exit_code, start_engine_command
from engine.stop import Stopped
from models.default import default_model
from models.header import Header
from models.identity import file_identity

log = logging.getLogger("engine.first_look")

Headers = tuple[Header, ...]  # of all files of a model, the first one first

MOST_BYTES = 1 << 30  # resident memory beyond the file's size; a usual file takes 0.2 GB
LAST_OUTPUT_BYTES = 4000  # how much of the end of the process's stderr is read
MOST_PRINTED_BYTES = 1 << 20  # of a Refusal, whose texts are cut to some thousand characters each
SIGKILL = int(getattr(signal, "SIGKILL", 9))
EXIT_REFUSED = 2  # exit code: a Refusal was printed

LookKey = tuple[str, ...]  # what a look depends on: the library, its version, the identities of the file and its parts
PASSED = Store("looked-at", 3, bool, most_entries=2000)  # raise the version when a look checks more


@dataclass(frozen=True, slots=True)
class Patience:
    """The longest time that a look may take.

    `processor_seconds`: a usual file takes one. `clock_seconds`: a busy computer needs long for one second of processor
    time. `is_final`: whether a file that takes longer is refused; otherwise the next look may have more patience.
    """

    processor_seconds: float = 30.0
    clock_seconds: float = 300.0
    is_final: bool = True


TO_LOAD = Patience()
TO_LIST = Patience(5.0, 20.0, is_final=False)  # of a file among many, which all wait for it


class LibraryCrashed(Failure):
    """Failure of a first look in which the library crashed; another library may be able to compute the model."""


class Refusal(msgspec.Struct, frozen=True):
    """The Failure that the looking process met, in the form in which that process prints it."""

    sentence: Sentence
    detail: str


def take_first_looks(
    models: Iterable[Headers | None],
    backend: BackendName,
    stop: Callable[[], bool] = lambda: False,
    patience: Patience = TO_LOAD,
    *,
    embeds: bool = False,
) -> None:
    """Look at the models with the library of `backend`, one after the other, unless a look at them passed before.

    `embeds`: they must be embedding models, otherwise chat models. Raises Failure for a file that is no model,
    LibraryCrashed, and Stopped once `stop` returns True.
    """
    for headers in filter(None, models):
        _take_first_look(headers, SHARED_LIBRARY.get(backend, backend), stop, patience, embeds)


def _take_first_look(
    headers: Headers, library: BackendName, stop: Callable[[], bool], patience: Patience, embeds: bool
) -> None:
    path, key = headers[0].path, look_key(headers, library, embeds)
    if key is None or PASSED.get(*key):
        return
    # The process writes to files, because a full pipe would stop it until somebody reads.
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as output:
        kind = ("--embeds",) if embeds else ()
        arguments = ("look", *kind, "--backend", library, "--", str(path.absolute()))
        try:
            process = start_engine_command(*arguments, stdout=printed, stderr=output, own_group=True)
        except OSError as error:
            raise Failure("out_of_memory.no_process", str(error), name=path.name) from error
        with process:
            code = _wait_within_limits(process, path, library, stop, patience)
            if code:
                raise _failure(path, library, code, printed, output)
    _remember(key)


def _wait_within_limits(
    process: subprocess.Popen[bytes], path: Path, library: BackendName, stop: Callable[[], bool], patience: Patience
) -> int:
    """Wait until the process ends, and return its exit code; kill it otherwise.

    Raises Failure if it takes too much time or memory, and Stopped once `stop` returns True.
    """
    until, title = time.monotonic() + patience.clock_seconds, BACKEND_TITLES[library]
    most = min(MOST_BYTES + path.stat().st_size, memory().total)
    with contextlib.closing(poll_exit_code(process)) as codes:
        for code in codes:
            if code is not None:
                return code
            seconds, resident = _usage(process.pid)
            if seconds > patience.processor_seconds or time.monotonic() > until:
                taken = f"{seconds} s of a processor with {title}"
                if not patience.is_final:
                    raise Failure("slow_check.of_model", taken, name=display_name(path))
                raise Failure("bad_model.unending_header", taken, name=path.name, library=title)
            if resident > most:
                raise Failure("bad_model.filling_header", f"more than {most} bytes with {title}", name=path.name)
            if stop():
                raise Stopped
    raise AssertionError("the process neither ended nor went on")


def _usage(pid: int) -> tuple[float, int]:
    """Return the process's processor seconds and resident bytes; zeros if it has just ended."""
    try:
        process = psutil.Process(pid)
        times = process.cpu_times()
        return times.user + times.system, int(process.memory_info().rss)
    except psutil.Error:
        return 0.0, 0


def _failure(path: Path, library: BackendName, code: int, printed: IO[bytes], output: IO[bytes]) -> Failure:
    """Return the Failure for exit code `code`: the one that the process printed, or one that says that it crashed.

    A library writes its failed assertion at the end of `output`.
    """
    if code == EXIT_REFUSED:
        printed.seek(0)
        with contextlib.suppress(msgspec.MsgspecError):
            refusal = msgspec.json.decode(printed.read(MOST_PRINTED_BYTES), type=Refusal)
            return Failure(refusal.sentence, refusal.detail)
    output.seek(max(0, output.seek(0, os.SEEK_END) - LAST_OUTPUT_BYTES))
    end = output.read().decode(errors="replace")
    log.warning("the first look at %s ended with code %d: %s", path, code, end)
    if code == -SIGKILL:
        return Failure("out_of_memory.while_checking", end, name=path.name)
    return LibraryCrashed("bad_model.crashes", f"code {code}: {end}", name=path.name, library=BACKEND_TITLES[library])


# --- looks that passed ---


def look_key(headers: Headers, backend: BackendName, embeds: bool = False) -> LookKey | None:
    """Return the key of a look at exactly these bytes; None if the model needs no look. Raises Failure."""
    if _is_built_in(headers[0].path):
        return None
    package = PACKAGES[SHARED_LIBRARY.get(backend, backend)]
    kind = ("embeds",) if embeds else ()
    files = (file_identity(header.path, header.data_offset) for header in headers)
    return package, library_version(package), *kind, *files


def _is_built_in(path: Path) -> bool:
    with contextlib.suppress(Failure, OSError, ValueError):  # no such model installed, no such file, no such name
        return path.samefile(default_model())
    return False


def _remember(key: LookKey) -> None:
    """Store that the look passed; if the cache folder is read-only, the file is looked at again next time."""
    try:
        PASSED.put(True, *key)
    except OSError as error:
        log.warning("Models will be looked at again: %s cannot be written (%s).", PASSED.folder, error.strerror)
