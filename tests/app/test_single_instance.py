"""One window per data folder: a second start hands its wish over; a first one that crashed is no obstacle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.folders import Folders
from app.single_instance import SingleInstance
from app.wiring import Chickadee
from models.default import default_model
from tests.app.conftest import SECONDS
from tests.app.test_start import CHECKOUT, loaded

ALREADY = b"Chickadee is already open; its window is in front now.\n"
Starter = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    """Starts the program on a data folder; what is left of it is killed."""
    started: list[subprocess.Popen[bytes]] = []

    def starter(data: Path, *arguments: str) -> subprocess.Popen[bytes]:
        environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "CHICKADEE_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, "-m", "app", "--data-dir", str(data), *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, cwd=CHECKOUT, env=environment, **pipes)  # type: ignore[call-overload]
        started.append(process)
        return process  # type: ignore[no-any-return]

    yield starter
    for process in started:
        process.kill()
        process.communicate()


def wait(condition: Callable[[], bool], *processes: subprocess.Popen[bytes]) -> None:
    while not condition():
        assert [process.poll() for process in processes if process.poll() is not None] == []
        time.sleep(0.05)


def a_model(folder: Path) -> Path:
    """The built-in one under another name."""
    path = folder / "wish.gguf"
    path.symlink_to(default_model())
    return path


def test_a_second_start_raises_the_first_window(
    chickadee: Chickadee, folders: Folders, qtbot: QtBot, tmp_path: Path, start: Starter
) -> None:
    first, model = SingleInstance(folders.data), a_model(tmp_path)
    assert first.claim()
    first.raised.connect(chickadee.raise_window)
    chickadee.window.showMinimized()
    with qtbot.waitSignal(first.raised, timeout=SECONDS) as heard:
        second = start(folders.data, "--model", str(model))
    assert heard.args == [str(model)]
    assert second.communicate(timeout=SECONDS / 1000) == (ALREADY, b"")
    assert second.returncode == 0
    assert not chickadee.window.isMinimized()
    assert chickadee.assistant.standing.path == model
    first.release()


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
def test_two_programs_one_killed_and_one_more(tmp_path: Path, start: Starter) -> None:
    """The first loads what the second was given; when it is killed, the third is first, and hears the fourth."""
    data, model = tmp_path / "data", a_model(tmp_path)
    first = start(data)
    wait(lambda: loaded(data) == [str(default_model())], first)
    second = start(data, str(model))
    assert second.communicate(timeout=SECONDS / 1000) == (ALREADY, b"")
    wait(lambda: loaded(data) == [str(model), str(default_model())], first)
    first.kill()
    assert first.wait(timeout=SECONDS / 1000) == -signal.SIGKILL
    third = start(data)
    wait(lambda: loaded(data) == [str(default_model()), str(model)], third)
    fourth = start(data)
    assert fourth.communicate(timeout=SECONDS / 1000) == (ALREADY, b"")
    third.send_signal(signal.SIGTERM)
    assert third.communicate(timeout=SECONDS / 1000) == (b"", b"")
    assert third.returncode == 0
    assert SingleInstance(data).claim()  # it left no lock behind
