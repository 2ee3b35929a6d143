"""Copies of the checkout, in which mutants are tested; nothing in the checkout itself is changed."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Literal

import psutil

ROOT = Path(__file__).resolve().parents[2]
CAGE = Path(__file__).with_name("cage.py")
Outcome = Literal["killed", "timed out", "survived"]
NO_TESTS = 5  # pytest's exit code
# Without hypothesis' folder and with one seed, a mutant's outcome does not depend on the mutants before it.
PYTEST = ("-m", "pytest", "-x", "-q", "-n", "0", "--timeout", "0", "--hypothesis-seed", "0")


@dataclass(slots=True)
class Tree:
    """Copy of the checkout, as it is, in which one mutant at a time is tested."""

    folder: Path
    stamps: Iterator[int] = field(default_factory=lambda: count(1))

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
        shutil.rmtree(self.folder / ".hypothesis", ignore_errors=True)
        output = self.folder / "build" / "output"
        output.parent.mkdir(exist_ok=True)
        with output.open("wb") as file:
            process = subprocess.Popen(
                (sys.executable, CAGE, self.folder, *command),
                cwd=self.folder,
                env=self.environment(),
                stdout=file,
                stderr=file,
            )
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        self.end_processes()
        process.wait()
        return code, output.read_text(errors="replace")

    def environment(self) -> dict[str, str]:
        """Return this process's environment without the folder of the mutation tools, which has other versions.

        Temporary files lie in the copy: elsewhere nothing can be written.
        """
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        temporary = self.folder / "t"  # short, because sockets in it have names of at most 107 characters
        temporary.mkdir(exist_ok=True)
        return kept | {"QT_QPA_PLATFORM": "offscreen", "TMPDIR": str(temporary)}

    def end_processes(self) -> None:
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if Path(process.cwd()).is_relative_to(self.folder):
                    process.kill()

    def judge(self, tests: Sequence[str], limit: float) -> tuple[Outcome, str]:
        """Return what these tests make of the tree, and the test that failed."""
        code, output = self.run(*PYTEST, *tests, limit=limit)
        if code is None:
            return "timed out", ""
        failed = (line.split(" - ")[0] for line in output.splitlines() if line.startswith(("FAILED ", "ERROR tests")))
        return "survived" if code in (0, NO_TESTS) else "killed", next(failed, f"exit code {code}")
