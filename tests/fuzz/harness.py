"""Runs what is fuzzed in processes of their own, within limits of time and memory. Knows nothing of what they do."""

from __future__ import annotations

import contextlib
import json
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
    """For one case, of a process and its children together: `seconds` of the processor's time, which is the same beside
    other programs; `wait` in seconds of wall time, after which one that does not compute hangs; `memory` in bytes."""

    seconds: float = 30.0
    memory: int = 2 << 30
    wait: float = 240.0


class Deadline:
    """Counts from now on what a process may still take."""

    def __init__(self, pid: int, limits: Limits) -> None:
        self.pid, self.limits = pid, limits
        self._begun, self._spent = time.monotonic(), computed(pid)

    def over(self) -> str:
        """The symptom; nothing while there is time left."""
        if computed(self.pid) - self._spent > self.limits.seconds:
            return f"it computed for more than {self.limits.seconds:.0f} s"
        if time.monotonic() - self._begun > self.limits.wait:
            return f"it did not end within {self.limits.wait:.0f} s"
        return ""


class Child:
    """A running Python module with pipes; whoever waits for it is told of a hang, a signal, too much memory."""

    def __init__(self, arguments: Sequence[str], folder: Path, limits: Limits) -> None:
        self.limits = limits
        self.peak = 0
        self._stderr = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  closed by `close`
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

    def deadline(self) -> Deadline:
        """For what is asked now."""
        return Deadline(self.pid, self.limits)

    def line(self, deadline: Deadline) -> bytes:
        """The next line it writes, ENDED after its last. Raises Broken."""
        while (line := self._next(LOOK_SECONDS * 5)) is None:
            if symptom := deadline.over():
                self.kill()
                raise Broken(symptom, self.said())
        return line

    def line_within(self, seconds: float) -> bytes | None:
        """As `answer`; None when there is no line in so many seconds of wall time."""
        line = self._next(seconds)
        if line == ENDED:
            raise self.died()
        return line

    def answer(self, deadline: Deadline) -> bytes:
        """As `line`, of a process that must not end. Raises Broken."""
        line = self.line(deadline)
        if line == ENDED:
            raise self.died()
        return line

    def _next(self, seconds: float) -> bytes | None:
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            return None
        if line == ENDED:
            self._lines.put(ENDED)
        return line

    def wait(self, deadline: Deadline) -> int:
        """Its exit code. Raises Broken."""
        while self.alive:
            if symptom := deadline.over():
                self.kill()
                raise Broken(symptom, self.said())
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(LOOK_SECONDS * 5)
        return self._process.returncode

    def died(self) -> Broken:
        """Why there is no answer: it has closed its output."""
        code = self.wait(self.deadline())
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
        for process in tree(self.pid)[1:]:
            with contextlib.suppress(psutil.Error):
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


def tree(pid: int) -> list[psutil.Process]:
    """A process and all that it started."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    return []


def resident(pid: int) -> int:
    """Bytes of memory that a process and its children hold for themselves: mapped files, which the system can take back
    at any moment, do not count where it tells them apart."""
    total = 0
    for process in tree(pid):
        with contextlib.suppress(psutil.Error):
            memory = process.memory_info()
            total += memory.rss - getattr(memory, "shared", 0)
    return total


def computed(pid: int) -> float:
    """Seconds that a process and its children have computed, those that have ended too."""
    total = 0.0
    for process in tree(pid):
        with contextlib.suppress(psutil.Error):
            total += sum(process.cpu_times()[:4])
    return total


def environment(folder: Path) -> dict[str, str]:
    """No folder of the user's is read or written. Models lie in `models`, which is one of the user's model folders: in
    another one a confined program could not read them."""
    own = {name: str(made(folder, name)) for name in ("home", "data", "cache")}
    listed = folder / "data" / "model-folders.json"
    if not listed.exists():
        listed.write_text(json.dumps([str(made(folder, "models"))]), encoding="utf-8")
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
        deadline, lines = child.deadline(), []
        while line := child.line(deadline):
            lines.append(line)
        code = child.wait(deadline)
        stderr = child.said()
        child._read_to = 0
        child.check()
        if code < 0:
            raise Broken(f"it died of signal {-code}", stderr)
        if code and not (stderr.strip() or lines):
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
