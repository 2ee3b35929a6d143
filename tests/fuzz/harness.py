"""Runs fuzzed programs in processes of their own, within limits of time and memory."""

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
LOOK_SECONDS = 0.03  # between two checks of memory; filling a page takes 0.1 µs, so at most 100 MB go unseen
TRACEBACK = b"Traceback (most recent call last)"
MOST_SHOWN = 2000  # characters of a process's output
LISTS_CHILDREN = Path("/proc/self/task", str(os.getpid()), "children").exists()
ENDED = b""  # returned instead of a line when the process has closed its output


class Broken(Exception):
    """Broken promise: `str()` is the symptom in one line, `detail` what the process wrote."""

    def __init__(self, symptom: str, detail: str = "") -> None:
        super().__init__(symptom)
        self.detail = detail[-MOST_SHOWN:]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one case, for a process and its children together.

    Attributes:
        seconds: of processor time, which other programs do not change.
        wait: seconds of wall time after which a process that does not compute counts as hanging.
        memory: bytes.
    """

    seconds: float = 30.0
    memory: int = 2 << 30
    wait: float = 240.0


class Deadline:
    """Time that a process may still take, from now on."""

    def __init__(self, pid: int, limits: Limits) -> None:
        self.pid, self.limits = pid, limits
        self._begun, self._spent = time.monotonic(), cpu_seconds(pid)

    def exceeded(self) -> str:
        """Return the symptom if the time is over; '' while time is left."""
        if cpu_seconds(self.pid) - self._spent > self.limits.seconds:
            return f"it computed for more than {self.limits.seconds:.0f} s"
        if time.monotonic() - self._begun > self.limits.wait:
            return f"it did not end within {self.limits.wait:.0f} s"
        return ""


class Child:
    """Running Python module with pipes; waiting for it raises Broken on a hang, a signal or too much memory."""

    def __init__(self, arguments: Sequence[str], folder: Path, limits: Limits) -> None:
        self.limits = limits
        self.peak = 0
        written, name = tempfile.mkstemp(dir=folder, prefix="stderr-")
        self._stderr = Path(name).open("rb")  # noqa: SIM115  closed by `close`
        self._process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=written,
            cwd=ROOT,
            env=environment(folder),
        )
        os.close(written)
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
        """Write to the process; a process that has ended is noticed when its answer is awaited."""
        assert self._process.stdin
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(data)
            self._process.stdin.flush()

    def close_input(self) -> None:
        assert self._process.stdin
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def deadline(self) -> Deadline:
        """Return the deadline of a request that is made now."""
        return Deadline(self.pid, self.limits)

    def line(self, deadline: Deadline) -> bytes:
        """Return the next line that it writes, ENDED after the last one. Raises Broken."""
        while (line := self._next(LOOK_SECONDS * 5)) is None:
            if symptom := deadline.exceeded():
                self.kill()
                raise Broken(symptom, self.new_stderr())
        return line

    def line_within(self, seconds: float) -> bytes | None:
        """Return the next line, None after `seconds` of wall time without one. Raises Broken if the process ends."""
        line = self._next(seconds)
        if line == ENDED:
            raise self.death()
        return line

    def answer(self, deadline: Deadline) -> bytes:
        """Return the next line of a process that must not end. Raises Broken."""
        line = self.line(deadline)
        if line == ENDED:
            raise self.death()
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
        """Wait for the end and return the exit code. Raises Broken."""
        while self.alive:
            if symptom := deadline.exceeded():
                self.kill()
                raise Broken(symptom, self.new_stderr())
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(LOOK_SECONDS * 5)
        return self._process.returncode

    def death(self) -> Broken:
        """Return the reason why a process has closed its output."""
        code = self.wait(self.deadline())
        why = self._over or (f"it died of signal {-code}" if code < 0 else f"it ended with code {code}")
        return Broken(why, self.new_stderr())

    def check(self) -> str:
        """Return what it wrote to stderr since the last check; called after each case.

        Raises Broken for a traceback or too much memory.
        """
        said = self.new_stderr()
        if self._over:
            raise Broken(self._over, said)
        if TRACEBACK.decode() in said:
            raise Broken("a traceback", said[said.index(TRACEBACK.decode()) :][:MOST_SHOWN])
        return said

    def new_stderr(self) -> str:
        """Return what it wrote to stderr since the last call."""
        return self._stderr.read().decode("utf-8", "replace")

    def kill(self) -> None:
        """Kill the process and its children."""
        for process in process_tree(self.pid)[1:]:
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
        with contextlib.suppress(OSError):  # Windows keeps it while a grandchild writes to it
            Path(self._stderr.name).unlink()

    def _collect(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(ENDED)
        self._process.stdout.close()

    def _watch(self) -> None:
        while self.alive:
            size = private_bytes(self.pid)
            self.peak = max(self.peak, size)
            if size > self.limits.memory:
                self._over = f"it took {size >> 20} MiB of memory"
                self.kill()
            time.sleep(LOOK_SECONDS)


def process_tree(pid: int) -> list[psutil.Process]:
    """Return a process and all its descendants."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        if not LISTS_CHILDREN:
            return [process, *process.children(recursive=True)]
        return [process, *(each for child in child_pids(pid) for each in process_tree(child))]
    return []


def child_pids(pid: int) -> list[int]:
    """Return the children that Linux lists; psutil reads every process of the computer to find them, in 5 to 25 ms."""
    found: list[int] = []
    for path in Path("/proc", str(pid), "task").glob("*/children"):
        with contextlib.suppress(OSError):  # the thread has ended
            found += map(int, path.read_text().split())
    return found


def private_bytes(pid: int) -> int:
    """Return the bytes of private memory of a process and its children.

    Mapped files, which the system can drop at any moment, do not count if the system reports them separately.
    """
    total = 0
    for process in process_tree(pid):
        with contextlib.suppress(psutil.Error):
            memory = process.memory_info()
            total += memory.rss - getattr(memory, "shared", 0)
    return total


def cpu_seconds(pid: int) -> float:
    """Return the processor time in seconds of a process and its children, ended ones included."""
    total = 0.0
    for process in process_tree(pid):
        with contextlib.suppress(psutil.Error):
            total += sum(process.cpu_times()[:4])
    return total


def environment(folder: Path) -> dict[str, str]:
    """Return environment variables that keep a program away from the user's folders.

    The folder `models` is added to the user's model folders, because a confined program cannot read models elsewhere.
    """
    own = {name: str(make_folder(folder, name)) for name in ("home", "data", "cache")}
    listed = folder / "data" / "model-folders.json"
    if not listed.exists():
        listed.write_text(json.dumps([str(make_folder(folder, "models"))]), encoding="utf-8")
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
class CommandResult:
    """Result of a command that has ended; `peak` in bytes."""

    code: int
    stdout: bytes
    stderr: str
    peak: int


def run_module(arguments: Sequence[str], folder: Path, limits: Limits) -> CommandResult:
    """Run `python -m` with these arguments to its end.

    Raises Broken for a hang, a signal, a traceback, too much memory, or a failure without a sentence.
    """
    child = Child(arguments, folder, limits)
    try:
        child.close_input()
        deadline, lines = child.deadline(), []
        while line := child.line(deadline):
            lines.append(line)
        code = child.wait(deadline)
        stderr = child.check()
        if code < 0:
            raise Broken(f"it died of signal {-code}", stderr)
        if code and not (stderr.strip() or lines):
            raise Broken(f"it ended with code {code} without a sentence", stderr)
        return CommandResult(code, b"".join(lines), stderr, child.peak)
    finally:
        child.kill()
        child.close()


def make_folder(folder: Path, *parts: str) -> Path:
    """Create the folder if it is missing, and return it."""
    path = folder.joinpath(*parts)
    path.mkdir(parents=True, exist_ok=True)
    return path


Recipe = Mapping[str, object]
