"""The loop of a worker process: lines of JSON in, lines of JSON out, with few rights and little memory. Knows no Qt."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from common.confinement import Rights, confine

MEMORY = 1 << 30


class WorkerResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a task; `problem` says why the work failed or was given up, "" for success."""

    problem: str = ""


def serve(task: type[Any], work: Callable[[Any], Any], nothing: Any, load: Callable[[], object]) -> None:
    """Write `nothing` when everything is loaded, then one result for each task until the input ends."""
    restrain()
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # so that what a library prints is not read as an answer
    load()
    results.write(msgspec.json.encode(nothing) + b"\n")
    results.flush()
    for line in sys.stdin.buffer:
        try:
            result = work(msgspec.json.decode(line, type=task))
        except Exception as error:  # noqa: BLE001  # hostile input to libraries that raise anything
            result = type(nothing)(problem=f"{type(error).__name__}: {error}"[:200])
        results.write(msgspec.json.encode(result) + b"\n")
        results.flush()


def restrain() -> None:
    """Limit this process: lower priority than the engine, MEMORY at most, no files to write, no processes, no network.

    The process can read only its own program. A limit that the system does not have is skipped.
    """
    confine(Rights(processes=False, memory=MEMORY))
    with suppress(AttributeError, OSError):
        os.nice(5)
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
