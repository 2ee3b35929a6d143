"""The library that does not compute the loaded model: timed in idle time, for the next load to know the faster one."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from pathlib import Path

from engine.protocol import BackendName
from engine.run_subprocess import run_apart
from models.shapes import KVType

log = logging.getLogger("engine.rival")

RETRY_AFTER = 60.0  # seconds
MOST_ATTEMPTS = 3  # on a machine that is always busy, or has no room for the model twice


class Rival:
    """Of the model at `path` with `name`; whether it was timed before, its own process finds out."""

    def __init__(self, path: Path, name: BackendName, threads: int, kv_type: KVType) -> None:
        self._command = ["calibrate", "--spare", "--backend", name, "--model", str(path)]
        self._command += ["--threads", str(threads), "--kv-type", kv_type]
        self._attempts = MOST_ATTEMPTS
        self._not_before = -math.inf

    def measure(self) -> Iterator[None]:
        """Time it now, in a process that ends with this iterator."""
        if not self._attempts or time.monotonic() < self._not_before:
            return
        self._not_before = time.monotonic() + RETRY_AFTER
        for code in run_apart(*self._command):
            if code is None:
                yield
            else:
                self._attempts = self._attempts - 1 if code else 0
                log.info("the other library's calibration ended with code %d", code)
