"""Child processes that speak lines of JSON: their output arrives, and their end is reported."""

from __future__ import annotations

import logging
import signal
import sys
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.services.json_line_process import Errors, JsonLineProcess, LineBuffer, wait_for_children
from common.process_end import ProcessEnd
from tests.common.confined_program import linux

KILLED = 62097  # the exit code that Qt gives to a process that it kills on Windows


class Child:
    """A process of Python code, and what was received from it."""

    def __init__(self, parent: QObject, errors: Errors = "drop") -> None:
        self.lines: list[bytes] = []
        self.ends: list[ProcessEnd] = []
        self.process = JsonLineProcess(parent, self.lines.extend, self.ends.append, errors)

    def start(self, code: str) -> None:
        self.process.start([sys.executable, "-c", code])

    def end(self, qtbot: QtBot) -> ProcessEnd:
        qtbot.waitUntil(lambda: bool(self.ends))
        assert len(self.ends) == 1
        return self.ends.pop()


ECHO = "import sys\nfor line in sys.stdin: print(line.strip() * 2, flush=True)"


@pytest.fixture
def parent(qapp: object) -> QObject:
    return QObject()


def test_what_is_written_is_answered_and_closing_ends_it(qtbot: QtBot, parent: QObject) -> None:
    child = Child(parent)
    child.start(ECHO)
    child.process.write(b"a\n")
    child.process.write(b"b\n")
    qtbot.waitUntil(lambda: child.lines == [b"aa", b"bb"])
    assert child.process.running
    child.process.close(grace_ms=600_000)
    child.process.write(b"c\n")
    wait_for_children()
    assert (child.lines, child.ends) == ([b"aa", b"bb"], [])


def test_the_last_lines_come_before_the_end(qtbot: QtBot, parent: QObject, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    child = Child(parent, logging.getLogger("test.said"))
    code = "import sys; print(*range(30), sep='\\n', file=sys.stderr); print('x' * 200_000); sys.exit(3)"
    child.start(code)
    end = child.end(qtbot)
    assert end == ProcessEnd(exit_code=3, output="\n".join(map(str, range(10, 30))))
    assert str(end) == "ended with code 3"
    assert child.lines == [b"x" * 200_000]
    assert [record.getMessage() for record in caplog.records if record.name == "test.said"] == list(map(str, range(30)))


def test_one_that_does_not_react_is_killed(qtbot: QtBot, parent: QObject) -> None:
    child = Child(parent)
    child.start("import time; print('begun', flush=True); time.sleep(600)")
    qtbot.waitUntil(lambda: bool(child.lines))
    child.process.kill()
    end = child.end(qtbot)
    if sys.platform == "win32":
        assert end == ProcessEnd(exit_code=KILLED, killed=True)
    else:
        assert end == ProcessEnd(signal_number=signal.SIGKILL, killed=True)
        assert str(end) == "ended by SIGKILL from us"


DEAF = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('begun', flush=True)\ntime.sleep(600)"


@linux
def test_closing_waits_for_nothing(qtbot: QtBot, parent: QObject) -> None:
    """A child that does not hear gets its time without anybody waiting in the window's thread."""
    child = Child(parent)
    child.start(DEAF)
    qtbot.waitUntil(lambda: bool(child.lines))
    process = psutil.Process(child.process.pid)
    child.process.close(grace_ms=600_000)
    assert process.is_running()
    wait_for_children(0.01)
    assert not process.is_running()
    assert child.ends == []


@linux
def test_children_are_given_their_time_together(qtbot: QtBot, parent: QObject, tmp_path: Path) -> None:
    """Each child ends by itself only when the other one was told to end, so that no order of one by one would do."""
    code = """import sys, time; from pathlib import Path
me, other = map(Path, {names})
print('begun', flush=True); sys.stdin.read(); me.with_suffix('.told').touch()
while not other.with_suffix('.told').exists(): time.sleep(0.01)
me.touch()"""
    files = [tmp_path / "a", tmp_path / "b"]
    children = [Child(parent), Child(parent)]
    for child, names in zip(children, (files, files[::-1]), strict=True):
        child.start(code.format(names=[str(name) for name in names]))
    qtbot.waitUntil(lambda: all(child.lines for child in children))
    for child in children:
        child.process.close(grace_ms=600_000)
    wait_for_children(60)
    assert [file.exists() for file in files] == [True, True]


@linux
def test_a_group_is_killed_with_the_process_that_leads_it(qtbot: QtBot, parent: QObject) -> None:
    child = Child(parent)
    helper = f"subprocess.Popen([sys.executable, '-c', {DEAF!r}])"
    child.start(f"import os, subprocess, sys, time; os.setpgid(0, 0); print({helper}.pid, flush=True); time.sleep(600)")
    qtbot.waitUntil(lambda: len(child.lines) == 2)  # its own line, and the helper's
    number = int(next(line for line in child.lines if line != b"begun"))
    child.process.close(group=True)
    wait_for_children()
    qtbot.waitUntil(lambda: not psutil.pid_exists(number) or psutil.Process(number).status() == psutil.STATUS_ZOMBIE)


def test_what_cannot_be_started_ends(qtbot: QtBot, parent: QObject) -> None:
    child = Child(parent)
    child.process.start(["/no/such/program"])
    end = child.end(qtbot)
    assert end.not_started
    assert str(end).startswith("could not be started: ")
    child.start("print(1)")  # and may be tried again
    assert child.end(qtbot) == ProcessEnd(exit_code=0)
    assert child.lines == [b"1"]


def test_the_end_of_one_that_was_replaced_is_not_its_successors(qtbot: QtBot, parent: QObject) -> None:
    """The callback for a process's last lines may close it and start another at once."""
    heard: list[bytes] = []
    ends: list[ProcessEnd] = []

    def hear(lines: list[bytes]) -> None:
        heard.extend(lines)
        if lines == [b"last words"]:
            process.close()
            process.start([sys.executable, "-c", "import sys; print('new', flush=True); sys.stdin.read(); sys.exit(4)"])

    process = JsonLineProcess(parent, hear, ends.append)
    process.start([sys.executable, "-c", "import os; os.write(1, b'last words\\n'); os._exit(5)"])
    qtbot.waitUntil(lambda: heard == [b"last words", b"new"])
    assert process.running
    assert ends == []
    process.close()


LINES = st.binary(min_size=1).filter(lambda line: b"\n" not in line and line.strip() and not line.endswith(b"\r"))


@given(st.lists(LINES), st.sampled_from([b"\n", b"\r\n"]), st.integers(1, 7))
def test_lines_survive_any_cut(lines: list[bytes], end: bytes, size: int) -> None:
    stream = b"".join(line + end for line in lines)
    buffer = LineBuffer()
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [line for piece in pieces for line in buffer.feed(piece)] == lines
