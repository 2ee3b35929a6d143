"""Ends of processes: the sentence that the user reads, from signals and from Windows' exit codes."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from common.process_end import EngineEnd


@pytest.mark.parametrize(
    ("end", "sentence"),
    [
        (EngineEnd(exit_code=4), "The engine ended unexpectedly (code 4)."),
        (EngineEnd(exit_code=0), "The engine ended unexpectedly."),
        (
            EngineEnd(signal_number=9, killed=True),
            "The engine did not respond, so it was closed; your next message restarts it.",
        ),
        (EngineEnd(not_started="no such file"), "The engine could not be started: no such file."),
    ],
)
def test_an_end_is_a_sentence(end: EngineEnd, sentence: str) -> None:
    assert str(end) == sentence


@pytest.mark.parametrize(
    ("code", "sentence", "crashed"),
    [
        (0xC0000005 - (1 << 32), "The engine crashed.", True),  # QProcess's exit codes have a sign
        (0xC000001D - (1 << 32), "The engine stopped: it was built for a newer processor than this one.", True),
        (0xC0000006, "The engine stopped: the model file could no longer be read.", True),
        (0xC0000409, "The engine stopped because of an internal error.", True),
        (3, "The engine stopped because of an internal error.", True),  # a library's assertion
        (1, "The engine ended unexpectedly (code 1).", False),  # as taskkill and the Task Manager end a process
        (0xC000013A, "The engine was closed by another program.", False),
    ],
)
def test_an_end_on_windows_is_named_by_its_exit_code(
    code: int, sentence: str, crashed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    end = EngineEnd(exit_code=code)
    assert (str(end), end.crashed) == (sentence, crashed)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (signal.SIGSEGV, "The engine crashed."),
        (9, "The engine was stopped by the system, most likely because memory ran out."),
        (63, "The engine was stopped by signal 63."),
    ],
)
def test_an_end_by_a_signal_is_a_sentence(number: int, sentence: str) -> None:
    assert EngineEnd.of_code(-number) == EngineEnd(signal_number=number)
    assert str(EngineEnd.of_code(-number)) == sentence


@pytest.mark.skipif(sys.platform != "win32", reason="Windows' exit codes")
@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import faulthandler; faulthandler._read_null()", "The engine crashed."),
        (
            "import ctypes; ctypes.windll.kernel32.TerminateProcess(ctypes.c_void_p(-1), 0xC000001D)",
            "The engine stopped: it was built for a newer processor than this one.",
        ),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "The engine ended unexpectedly (code 15)."),
    ],
)
def test_real_ends_on_windows_are_named(code: str, sentence: str) -> None:
    ended = subprocess.run([sys.executable, "-c", code])
    assert str(EngineEnd.of_code(ended.returncode)) == sentence
