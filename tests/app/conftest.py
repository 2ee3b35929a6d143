"""The window on a folder of its own, with the scripted engine or the real one."""

from __future__ import annotations

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
from app.services import math_service
from app.wiring import Chickadee, Intervals
from engine.protocol import Request, decode_request

CHECKOUT = Path(__file__).parents[2]
FAKE = [sys.executable, "-m", "tests.app.fake_engine"]
NAMES = {"English", "简体中文", "llama.cpp", "ik_llama.cpp"}  # the same in every language
ONE_HOLE = re.compile(r"\{[^}]*\}")  # nothing in it to translate
SECONDS = 120_000  # how long a test waits for anything, in ms: beside other busy programs too it comes before that
Opener = Callable[..., Chickadee]
Requests = Callable[[], list[Request]]


@pytest.fixture(scope="session", autouse=True)
def formulas() -> Iterator[None]:
    """No worker process outlives the tests."""
    yield
    if math_service._service is not None:
        math_service._service.close()


@pytest.fixture(scope="session")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The command of the scripted engine; where processes can be copied, one that has its imports behind it."""
    if not hasattr(os, "fork"):
        yield FAKE
        return
    with tempfile.TemporaryDirectory() as folder:  # a socket's path is short
        path = f"{folder}/engines"
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        forks = subprocess.Popen([*FAKE, "--forks", path], cwd=CHECKOUT, **pipes)  # type: ignore[call-overload]
        assert forks.stdout
        assert forks.stdout.readline() == b"listening\n"
        yield [sys.executable, "-I", "-S", str(Path(__file__).with_name("fake_engine_client.py")), path]
        forks.kill()
        forks.communicate()


class PatientBot(QtBot):
    """Waits as long as a busy computer may need, where a test says nothing else."""

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
    """The English of all that `make translations` finds: it reads the whole program for that."""
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
    """Whatever is asked for by `tr`, in whichever test, is where `make translations` finds it: literal, or marked."""
    unknown: list[str] = []

    def look_up(text: str, _n: int | None = None, /) -> None:
        if text not in known_words and not ONE_HOLE.fullmatch(text):
            unknown.append(text)

    words.use(look_up)
    yield
    words.use(None)
    assert unknown == []


@pytest.fixture
def intervals() -> Intervals:
    """The window waits for nothing that a test would have to wait for too. Only an engine has its time: beside busy
    programs even a sound one may take longer than a user should wait."""
    return Intervals(tick=50, patience=SECONDS, opened=10, typed=20, settled=20, placed=20)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return open_folders(tmp_path / "data")


@pytest.fixture(scope="session")
def fusion(qapp: QApplication) -> None:
    """The style that the program sets when it starts."""
    qapp.setStyle("Fusion")


@pytest.fixture
def open_window(
    qtbot: QtBot, fusion: None, folders: Folders, tmp_path: Path, intervals: Intervals, scripted: list[str]
) -> Iterator[Opener]:
    """Opens the window on the test's folder; every one is closed again."""
    opened: list[Chickadee] = []

    def opener(
        model: Path | None = None,
        command: list[str] | None = scripted,
        max_tokens: int | None = None,
        preparation: Sequence[str] = (),
    ) -> Chickadee:
        model = model or (tmp_path / "fake.gguf" if command else None)
        chickadee = Chickadee(folders, model, command, max_tokens, intervals, preparation)
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
    # Now: what is left would be painted again with the next window's theme, which takes longer than all of its making.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def chickadee(open_window: Opener, qtbot: QtBot) -> Chickadee:
    """The window with the scripted engine, ready to answer."""
    chickadee = open_window()
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    return chickadee


@pytest.fixture
def ask(qtbot: QtBot) -> Callable[[Chickadee, str], None]:
    """Types the text and presses Enter."""

    def ask(chickadee: Chickadee, text: str) -> None:
        qtbot.keyClicks(chickadee.window.composer.text, text)
        qtbot.keyClick(chickadee.window.composer.text, Qt.Key.Key_Return)

    return ask


@pytest.fixture
def requests(tmp_path: Path) -> Requests:
    """What the engine was asked to load, to read and to answer."""

    def read() -> list[Request]:
        path = tmp_path / "requests.log"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return [decode_request(line) for line in lines if line.endswith(b"\n")]

    return read
