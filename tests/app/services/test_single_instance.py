"""One window per data folder: a second start sends its request to the first; a crashed one is no obstacle."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.folders import Folders
from app.services import single_instance
from app.services.single_instance import SingleInstance
from app.wiring import Chickadee
from common.failures import Failure
from models.default import default_model
from tests.app.conftest import SECONDS
from tests.app.test_start import CHECKOUT, loaded

ALREADY = f"Chickadee is already open. Its window is now in front.{os.linesep}".encode()
Starter = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    """Yield a function that starts the program on a data folder; processes that are left are killed afterwards."""
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
    """Return the built-in model under another name; on Windows only an administrator may make links."""
    path = folder / "wish.gguf"
    if sys.platform == "win32":
        return Path(shutil.copyfile(default_model(), path))
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
    assert chickadee.engine.state.path == model
    first.release()


def test_a_window_that_is_ending_is_not_raised_again(chickadee: Chickadee) -> None:
    """Its store is closed: what is written there would be lost."""
    chickadee.window.close()
    chickadee.raise_window("")
    assert not chickadee.window.isVisible()


def test_a_start_while_the_first_is_ending_waits_and_becomes_the_first(folders: Folders, start: Starter) -> None:
    first = SingleInstance(folders.data)
    assert first.claim()
    first.stop_listening()
    second = start(folders.data)
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(timeout=2)
    first.release()
    wait(lambda: loaded(folders.data) == [str(default_model())], second)


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
@pytest.mark.slow
def test_two_programs_one_killed_and_one_more(tmp_path: Path, start: Starter) -> None:
    """The first loads the second's model; when the first is killed, the third replaces it and hears the fourth."""
    data, model = tmp_path / "data", a_model(tmp_path)
    first = start(data)
    wait(lambda: loaded(data) == [str(default_model())], first)
    second = start(data, str(model))
    assert second.communicate(timeout=SECONDS / 1000) == (ALREADY, b"")
    wait(lambda: loaded(data) == [str(model), str(default_model())], first)
    first.kill()
    assert first.wait(timeout=SECONDS / 1000) == -signal.SIGKILL
    third = start(data, str(default_model()))
    wait(lambda: loaded(data) == [str(default_model()), str(model)], third)
    fourth = start(data)
    assert fourth.communicate(timeout=SECONDS / 1000) == (ALREADY, b"")
    third.send_signal(signal.SIGTERM)
    assert third.communicate(timeout=SECONDS / 1000) == (b"", b"")
    assert third.returncode == 0
    assert SingleInstance(data).claim()  # it left no lock behind


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
def test_of_many_starts_at_once_one_stays_and_again_when_that_is_killed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    stayed: list[subprocess.Popen[str]] = []
    try:
        for attempt in range(3):
            go = tmp_path / f"go{attempt}"
            command = [sys.executable, "-m", "tests.app.claims", str(data), str(go)]
            started = [subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) for _ in range(4)]
            stayed += started
            assert [said_next(process) for process in started] == ["here"] * 4
            go.touch()
            said = [said_next(process) for process in started]
            assert sorted(said) == ["first", *["told"] * 3]
            first = started[said.index("first")]
            assert [process.wait(SECONDS / 1000) for process in started if process is not first] == [0] * 3
            assert first.poll() is None
            first.kill()  # its lock and its socket stay behind
            first.wait(SECONDS / 1000)
    finally:
        for process in stayed:
            process.kill()
            process.communicate()


def said_next(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
def test_three_programs_at_once(tmp_path: Path, start: Starter) -> None:
    """Exactly one becomes the first, on a new folder and on one whose window was killed."""
    data = tmp_path / "data"
    for _ in range(2):
        programs = [start(data) for _ in range(3)]
        wait(lambda programs=programs: sum(each.poll() is not None for each in programs) >= 2)  # type: ignore[misc]
        ended = [each for each in programs if each.poll() is not None]
        assert [each.communicate() for each in ended] == [(ALREADY, b"")] * 2
        (stays,) = (each for each in programs if each not in ended)
        wait(lambda: loaded(data) == [str(default_model())], stays)
        stays.kill()
        stays.wait(SECONDS / 1000)


def test_a_first_one_that_does_not_answer_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    """A first one that is busy carries the request out once, however often it did not answer."""
    monkeypatch.setattr(single_instance, "WAIT_MS", 10)
    monkeypatch.setattr(single_instance, "PATIENCE_SECONDS", 0.3)
    first, second, heard = SingleInstance(tmp_path), SingleInstance(tmp_path), list[str]()
    first.raised.connect(heard.append)
    assert first.claim()  # and hears nothing: no event loop runs
    with pytest.raises(Failure, match="does not respond"):
        second.claim("wish.gguf")
    third = subprocess.Popen([sys.executable, "-m", "tests.app.claims", tmp_path, tmp_path], cwd=CHECKOUT)
    qtbot.waitUntil(lambda: third.poll() is not None)
    assert third.returncode == 0
    # A pipe of Windows keeps nothing of a program that has given up.
    assert heard.count("wish.gguf") == (sys.platform != "win32")
    first.release()
    assert second.claim()
    second.release()
