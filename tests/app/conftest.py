"""The window on a folder of its own, with the scripted engine or the real one."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from pytestqt.wait_signal import SignalBlocker

from app import words
from app.folders import Folders, open_folders
from app.foundation import Foundation, Intervals
from app.services.json_line_process import wait_for_children
from app.services.worker_service import colour_service, math_service
from app.wiring import Chickadee
from engine.protocol.lines import decode_request
from engine.protocol.requests import Request

CHECKOUT = Path(__file__).parents[2]
FAKE = [sys.executable, "-m", "tests.app.fake_engine"]
NAMES = {"English", "简体中文", "llama.cpp", "ik_llama.cpp"}  # the same in every language
ONE_PLACEHOLDER = re.compile(r"\{[^}]*\}")  # a text without words to translate
SECONDS = 120_000  # ms: the default timeout, long enough beside other busy programs
SOME_TESTS = 20  # after which garbage that is older than a test is looked for, too
Opener = Callable[..., Chickadee]
Requests = Callable[[], list[Request]]


@pytest.fixture(scope="session", autouse=True)
def no_collection_in_other_threads() -> Iterator[None]:
    """Leave garbage to `collect_garbage`: a thread that collects it deletes widgets, which ends the process."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=True)
def collect_garbage(no_collection_in_other_threads: None) -> Iterator[None]:
    """Free what a test has left, in the thread of the widgets."""
    yield
    gc.collect(1 if gc.get_count()[2] < SOME_TESTS else 2)


@pytest.fixture(scope="session", autouse=True)
def close_workers() -> Iterator[None]:
    """End the processes that draw formulas and colour code after the last test."""
    yield
    for service in (math_service, colour_service):
        if service.cache_info().currsize:
            service().close()
    wait_for_children()


@pytest.fixture(scope="session")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Yield the command of the scripted engine.

    Where processes can fork, the command connects to a server process that has imported everything already.
    """
    if not hasattr(os, "fork"):
        yield FAKE
        return
    with tempfile.TemporaryDirectory() as folder:  # its path is short, as a socket's path must be
        path = f"{folder}/engines"
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        forks = subprocess.Popen([*FAKE, "--forks", path], cwd=CHECKOUT, **pipes)  # type: ignore[call-overload]
        assert forks.stdout
        assert forks.stdout.readline() == b"listening\n"
        yield [sys.executable, "-I", "-S", str(Path(__file__).with_name("fake_engine_client.py")), path]
        forks.kill()
        forks.communicate()


class PatientBot(QtBot):
    """A QtBot whose default timeouts are long enough for a busy computer."""

    def waitUntil(self, callback: Callable[[], bool | None], *, timeout: int = SECONDS) -> None:
        super().waitUntil(callback, timeout=timeout)

    def waitSignal(self, signal: Any, *, timeout: int = SECONDS, **options: Any) -> SignalBlocker:
        return super().waitSignal(signal, timeout=timeout, **options)

    def waitExposed(self, widget: QWidget, *, timeout: int = SECONDS) -> Any:
        return super().waitExposed(widget, timeout=timeout)


@pytest.fixture
def qtbot(qapp: QApplication, request: pytest.FixtureRequest) -> QtBot:
    return PatientBot(request)


@pytest.fixture(scope="session")
def window_texts() -> Mapping[str, Any]:
    """Return the English texts that `make translations` finds; to find them, it reads the whole program."""
    sys.path.insert(0, str(CHECKOUT / "packaging"))
    try:
        texts: Mapping[str, Any] = import_module("translations").texts()
        return texts
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="session")
def known_words(window_texts: Mapping[str, Any]) -> set[str]:
    return set(window_texts) | NAMES


@pytest.fixture(autouse=True)
def _words_can_be_translated(known_words: set[str]) -> Iterator[None]:
    """Check in every test that `make translations` finds each text that is passed to `tr`, literal or marked."""
    unknown: list[str] = []

    def look_up(text: str, _n: int | None = None, /) -> None:
        if text not in known_words and not ONE_PLACEHOLDER.fullmatch(text):
            unknown.append(text)

    words.use(look_up)
    yield
    words.use(None)
    assert unknown == []


@pytest.fixture
def intervals() -> Intervals:
    """Return short intervals, so that no test waits for a timer of the window.

    Only the patience with an engine is long: on a busy computer, even a healthy engine may take longer than users
    should have to wait.
    """
    return Intervals(
        tick=50,
        patience=SECONDS,
        read_ahead=10,
        links=20,
        title=20,
        offers=20,
        memory=20,
        save_text=20,
        settings_settled=20,
        save_window=20,
        index=20,
    )


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return open_folders(tmp_path / "data")


@pytest.fixture(scope="session")
def fusion(qapp: QApplication) -> None:
    """Set the style that the program sets when it starts."""
    qapp.setStyle("Fusion")


@pytest.fixture
def open_window(
    qtbot: QtBot, fusion: None, folders: Folders, tmp_path: Path, intervals: Intervals, scripted: list[str]
) -> Iterator[Opener]:
    """Yield a function that opens a window on the test's folder; close all windows after the test."""
    opened: list[Chickadee] = []

    def opener(
        model: Path | None = None,
        command: list[str] | None = scripted,
        max_tokens: int | None = None,
        preparation: Sequence[str] = (),
        model_used_last: bool = False,
    ) -> Chickadee:
        if command and not model_used_last:
            model = model or tmp_path / "fake.gguf"
        foundation = Foundation(folders, model, command, max_tokens, intervals)
        foundation.start()  # before the window is built, as the program does it
        chickadee = Chickadee(foundation, preparation)
        opened.append(chickadee)
        chickadee.window.resize(1000, 700)
        with qtbot.waitExposed(chickadee.window):
            chickadee.window.show()
        chickadee.start()
        return chickadee

    yield opener
    for chickadee in opened:
        if chickadee.window.isVisible():
            chickadee.window.close()
        chickadee.window.deleteLater()
        chickadee.deleteLater()
    # Delete at once: the next window's theme would repaint old widgets, which takes longer than making the window.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def chickadee(open_window: Opener, qtbot: QtBot) -> Chickadee:
    """Open the window with the scripted engine and wait until the engine is ready."""
    chickadee = open_window()
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    return chickadee


@pytest.fixture
def ask(qtbot: QtBot) -> Callable[[Chickadee, str], None]:
    """Return a function that types a text into the composer and presses Enter."""

    def ask(chickadee: Chickadee, text: str) -> None:
        qtbot.keyClicks(chickadee.window.composer.text, text)
        qtbot.keyClick(chickadee.window.composer.text, Qt.Key.Key_Return)

    return ask


@pytest.fixture
def requests(tmp_path: Path) -> Requests:
    """Return a function that reads the Load, Prepare and Generate requests that the scripted engine has logged."""

    def read() -> list[Request]:
        path = tmp_path / "requests.log"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return [decode_request(line) for line in lines if line.endswith(b"\n")]

    return read
