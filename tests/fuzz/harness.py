"""Runs what is fuzzed in processes of their own, within limits of time and memory. Knows nothing of what they do."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
LOOK_SECONDS = 0.03  # between looks at a process's memory: a page takes 0.1 µs, so at most some 100 MB are missed
TRACEBACK = b"Traceback (most recent call last)"
MOST_SHOWN = 2000  # characters of what a process wrote
ENDED = b""  # in place of a line: the process has closed its output


class Broken(Exception):
    """A promise does not hold; `str()` is the symptom in a line, `detail` what the process wrote."""

    def __init__(self, symptom: str, detail: str = "") -> None:
        super().__init__(symptom)
        self.detail = detail[-MOST_SHOWN:]


@dataclass(frozen=True, slots=True)
class Limits:
    """For one case: `seconds` of wall time, `memory` in bytes of a process and its children together.

    The time is a limit against hanging, far beyond what any case needs on a slow and busy machine."""

    seconds: float = 60.0
    memory: int = 2 << 30


class Child:
    """A running Python module with pipes; whoever waits for it is told of a hang, a signal, too much memory."""

    def __init__(self, arguments: Sequence[str], folder: Path, limits: Limits) -> None:
        self.limits = limits
        self.peak = 0
        self._stderr = tempfile.TemporaryFile(dir=folder)
        self._read_to = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            cwd=ROOT,
            env=environment(folder),
        )
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._over = ""
        threading.Thread(target=self._collect, daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def send(self, data: bytes) -> None:
        """A process that has ended takes nothing; who waits for its answer is told."""
        assert self._process.stdin
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(data)
            self._process.stdin.flush()

    def close_input(self) -> None:
        assert self._process.stdin
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def line(self, until: float) -> bytes:
        """The next line it writes, ENDED after its last. `until`: by time.monotonic(). Raises Broken."""
        try:
            line = self._lines.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            self.kill()
            raise Broken(f"it did not end within {self.limits.seconds:.0f} s", self.said()) from None
        if line == ENDED:
            self._lines.put(ENDED)
        return line

    def line_or_none(self, until: float) -> bytes | None:
        """As `answer`; None when there is no line by then."""
        try:
            line = self._lines.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return None
        if line == ENDED:
            self._lines.put(ENDED)
            self.wait(time.monotonic() + self.limits.seconds)
            raise self.died()
        return line

    def answer(self, until: float) -> bytes:
        """As `line`, of a process that must not end. Raises Broken."""
        line = self.line(until)
        if line == ENDED:
            self.wait(until)
            raise self.died()
        return line

    def wait(self, until: float) -> int:
        """Its exit code. Raises Broken."""
        try:
            return self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.kill()
            raise Broken(f"it did not end within {self.limits.seconds:.0f} s", self.said()) from None

    def died(self) -> Broken:
        """Why there is no answer."""
        code = self._process.returncode
        why = self._over or (f"it died of signal {-code}" if code < 0 else f"it ended with code {code}")
        return Broken(why, self.said())

    def check(self) -> None:
        """After a case: raises Broken for a traceback, or too much memory, since the last look."""
        said = self.said()
        if self._over:
            raise Broken(self._over, said)
        if TRACEBACK.decode() in said:
            raise Broken("a traceback", said[said.index(TRACEBACK.decode()) :][:MOST_SHOWN])

    def said(self) -> str:
        """What it wrote to stderr since the last call."""
        end = os.fstat(self._stderr.fileno()).st_size
        said = os.pread(self._stderr.fileno(), end - self._read_to, self._read_to)
        self._read_to = end
        return said.decode("utf-8", "replace")

    def kill(self) -> None:
        """It and what it started, at once."""
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in psutil.Process(self.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()

    def close(self) -> None:
        self.close_input()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()
        self._stderr.close()

    def _collect(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(ENDED)
        self._process.stdout.close()

    def _watch(self) -> None:
        while self.alive:
            size = resident(self.pid)
            self.peak = max(self.peak, size)
            if size > self.limits.memory:
                self._over = f"it took {size >> 20} MiB of memory"
                self.kill()
            time.sleep(LOOK_SECONDS)


def resident(pid: int) -> int:
    """Bytes of memory that a process and its children hold."""
    total = 0
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                total += each.memory_info().rss
    return total


def environment(folder: Path) -> dict[str, str]:
    """No folder of the user's is read or written."""
    own = {name: str(folder / name) for name in ("home", "data", "cache")}
    return os.environ | {
        "HOME": own["home"],
        "CHICKADEE_DATA_DIR": own["data"],
        "CHICKADEE_CACHE_DIR": own["cache"],
        "LANGUAGE": "en",
        "LC_ALL": "C.UTF-8",
        "QT_QPA_PLATFORM": "offscreen",
        "GOMP_SPINCOUNT": "500",
        "PYTHONWARNINGS": "default",
    }


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that has ended. `peak`: bytes."""

    code: int
    stdout: bytes
    stderr: str
    peak: int


def run(arguments: Sequence[str], folder: Path, limits: Limits) -> Ran:
    """`python -m` these arguments, to the end. Raises Broken for a hang, a signal, a traceback, too much memory, or
    a failure without a sentence."""
    child = Child(arguments, folder, limits)
    try:
        child.close_input()
        until, lines = time.monotonic() + limits.seconds, []
        while line := child.line(until):
            lines.append(line)
        code = child.wait(until)
        stderr = child.said()
        child._read_to = 0
        child.check()
        if code < 0:
            raise Broken(f"it died of signal {-code}", stderr)
        if code and not stderr.strip():
            raise Broken(f"it ended with code {code} without a sentence", stderr)
        return Ran(code, b"".join(lines), stderr, child.peak)
    finally:
        child.kill()
        child.close()


def made(folder: Path, *parts: str) -> Path:
    """A folder that is there."""
    path = folder.joinpath(*parts)
    path.mkdir(parents=True, exist_ok=True)
    return path


Recipe = Mapping[str, object]
