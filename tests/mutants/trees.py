"""Copies of the checkout, in which mutants are tested; nothing in the checkout itself is changed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Literal

import psutil

from tests.mutants.forks import SOCKET, UNKNOWN

ROOT = Path(__file__).resolve().parents[2]
CAGE = Path(__file__).with_name("cage.py")
Outcome = Literal["killed", "timed out", "survived"]
NO_TESTS = 5  # pytest's exit code
# Without hypothesis' folder and with one seed, a mutant's outcome does not depend on the mutants before it.
PYTEST = ("-m", "pytest", "-x", "-q", "-n", "0", "--timeout", "0", "--hypothesis-seed", "0")
LONGEST_START = 600.0  # seconds that collecting the tests may take


@dataclass(frozen=True, slots=True)
class Collected:
    """Process that has collected these tests, and the connection to it."""

    tests: tuple[str, ...]
    process: subprocess.Popen[bytes]
    link: socket.socket

    def answer(self, limit: float) -> str | None:
        """Return its next answer, or None if there is none in `limit` seconds."""
        self.link.settimeout(limit)
        try:
            with self.link.makefile(encoding="utf-8") as lines:
                return str(json.loads(lines.readline() or json.dumps("the end of all tests")))
        except TimeoutError:
            return None


@dataclass(slots=True)
class Tree:
    """Copy of the checkout, as it is, in which one mutant at a time is tested.

    `collected` is the process, if any, that has collected tests and runs them in forks of itself.
    """

    folder: Path
    stamps: Iterator[int] = field(default_factory=lambda: count(1))
    collected: Collected | None = None

    def fill(self) -> None:
        listed = subprocess.run(
            ("git", "ls-files", "-zco", "--exclude-standard"), cwd=ROOT, capture_output=True, check=True
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / name).is_file():
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self.folder / name)
        (self.folder / ".venv").symlink_to(ROOT / ".venv")

    @contextlib.contextmanager
    def changed(self, name: str, text: str) -> Iterator[None]:
        """Give a file this text for a while. Each text has its own time: Python recompiles what has another time."""
        path = self.folder / name
        before = path.read_text(encoding="utf-8")
        try:
            self._write(path, text)
            yield
        finally:
            self._write(path, before)

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        os.utime(path, (stamp := next(self.stamps), stamp))

    def run(self, *command: str, limit: float | None = None) -> tuple[int | None, str]:
        """Return a Python command's exit code, None after `limit` seconds, and its output; end all that it started."""
        process = self._start(command)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        self.end_processes(but=self.collected.process.pid if self.collected else 0)
        process.wait()
        return code, self.output.read_text(errors="replace")

    @property
    def output(self) -> Path:
        return self.folder / "build" / "output"

    def _start(self, command: Sequence[str], **settings: Any) -> subprocess.Popen[bytes]:
        self._clean()
        self.output.parent.mkdir(exist_ok=True)
        with self.output.open("wb") as file:
            return subprocess.Popen(
                (sys.executable, CAGE, self.folder, *command),
                cwd=self.folder,
                env=self.environment() | settings.pop("env", {}),
                stdout=file,
                stderr=file,
                **settings,
            )

    def _clean(self) -> None:
        for name in (".hypothesis", "t"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        (self.folder / "t").mkdir()

    def collect(self, tests: Sequence[str]) -> None:
        """Start the process that has collected these tests, unless it runs already."""
        if self.collected and self.collected.tests == tuple(tests):
            return
        self.end_processes()
        ours, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            command = (*PYTEST, "-p", "tests.mutants.forks", *tests)
            process = self._start(command, env={SOCKET: str(number)}, pass_fds=[number])
        self.collected = Collected(tuple(tests), process, ours)
        if self.collected.answer(LONGEST_START) != "":
            raise RuntimeError(self.output.read_text(errors="replace"))

    def judge_in_fork(self, name: str, old: str, new: str, tests: Sequence[str], limit: float) -> tuple[Outcome, str]:
        """Return what these tests, collected before, make of the module's text `new`, and the test that failed.

        A mutant that a fork cannot have survives.
        """
        assert self.collected
        self._clean()
        request = json.dumps((str(self.folder / name), old, new, tests))
        self.collected.link.sendall(f"{request}\n".encode())
        failed = self.collected.answer(limit)
        alive = self.collected.process.poll() is None and failed is not None
        self.end_processes(but=self.collected.process.pid if alive else 0)
        if failed is None:
            return "timed out", ""
        return ("survived" if failed in ("", UNKNOWN) else "killed"), failed

    def environment(self) -> dict[str, str]:
        """Return this process's environment without the folder of the mutation tools, which has other versions.

        Temporary files lie in the copy: elsewhere nothing can be written.
        """
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        # Its name is short, because sockets in it have names of at most 107 characters.
        return kept | {"QT_QPA_PLATFORM": "offscreen", "TMPDIR": str(self.folder / "t")}

    def end_processes(self, but: int = 0) -> None:
        """End all that runs in the copy, but for the process with this number."""
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.pid != but and Path(process.cwd()).is_relative_to(self.folder):
                    process.kill()
        if self.collected and not but:
            self.collected.process.wait()
            self.collected.link.close()
            self.collected = None

    def judge(self, tests: Sequence[str], limit: float) -> tuple[Outcome, str]:
        """Return what these tests make of the tree, and the test that failed."""
        code, output = self.run(*PYTEST, *tests, limit=limit)
        if code is None:
            return "timed out", ""
        failed = (line.split(" - ")[0] for line in output.splitlines() if line.startswith(("FAILED ", "ERROR tests")))
        return "survived" if code in (0, NO_TESTS) else "killed", next(failed, f"exit code {code}")
