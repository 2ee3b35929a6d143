"""A model from a folder to a chat and away again, with the real engine and without any connection."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.wiring import Chickadee
from models.default import default_model
from tests.app.conftest import SECONDS, Opener
from tests.app.dialogs.conftest import press
from tests.app.test_window import Ask

TRAP = """
import os, sys

def heard(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        with open(os.environ["TRAPPED"], "a") as file:
            file.write(f"{os.getpid()} {event} {arguments[-1]!r}\\n")

sys.addaudithook(heard)
"""
JOURNEY = "CHICKADEE_JOURNEY"
LONG = 1200  # seconds for a Python, a window, four engines and a planner on a busy computer
_trapped: list[str] = []  # attempts of this process; an audit hook cannot be removed


def _heard(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        _trapped.append(f"{event} {arguments[-1]!r}")


@pytest.fixture
def connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield the attempts of this process and its children to reach an address, complete when the test is over."""
    folder = tmp_path / "trap"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(TRAP)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("TRAPPED", str(folder / "trapped"))
    monkeypatch.setenv("CHICKADEE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path / "cache"))
    if not _trapped:
        sys.addaudithook(_heard)
    _trapped.clear()
    found: list[str] = []
    yield found
    found += _trapped
    if (folder / "trapped").exists():
        found += (folder / "trapped").read_text().splitlines()
    assert found == []


def alone() -> list[str] | None:
    """Return the command that runs another one in an empty network; None if the system refuses that."""
    for options in (["--net"], ["--net", "--map-root-user"]):
        command = ["unshare", *options]
        if shutil.which("unshare") and subprocess.run([*command, "true"], capture_output=True).returncode == 0:
            return command
    return None


@pytest.mark.long
@pytest.mark.timeout(LONG)
@pytest.mark.parametrize("how_far", ["answers", pytest.param("measurements", marks=pytest.mark.slow)])
def test_the_journey_in_a_network_with_nothing_in_it(how_far: str) -> None:
    """If namespaces are not allowed, the journey runs in the normal network; attempts are trapped in any case."""
    test = f"{__file__}::test_add_judge_load_chat_watch_delete_without_a_connection"
    command = [*(alone() or []), sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {JOURNEY: how_far})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@pytest.mark.timeout(LONG)
@pytest.mark.skipif(JOURNEY not in os.environ, reason="the test above runs it")
def test_add_judge_load_chat_watch_delete_without_a_connection(
    connections: list[str], open_window: Opener, qtbot: QtBot, ask: Ask, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    path, own = folder / "wren.gguf", tmp_path / "data" / "models" / "robin.gguf"
    shutil.copyfile(default_model(), path)
    chickadee = open_window(model=default_model(), command=None, max_tokens=8)
    chickadee.models.controller.open()
    dialog = chickadee.models.controller.dialog
    assert dialog
    chickadee.models.controller.add(str(folder))
    key = ("here", path)
    qtbot.waitUntil(lambda: key in dialog.rows and "Fits:" in dialog.rows[key].verdict.text(), timeout=SECONDS)
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready", timeout=SECONDS)
    press(qtbot, dialog, key, "load")
    qtbot.waitUntil(lambda: chickadee.models.controller.list.loaded == path, timeout=SECONDS)
    ask(chickadee, "Say a word.")
    conversation = chickadee.open_chats.current
    qtbot.waitUntil(lambda: len(conversation.messages) == 2 and not conversation.busy, timeout=SECONDS)
    assert conversation.messages[-1].content.strip()
    watch(chickadee, qtbot)
    press(qtbot, dialog, key, "unload")
    qtbot.waitUntil(lambda: not chickadee.process.running, timeout=SECONDS)
    assert chickadee.engine.state.problem is None
    ask(chickadee, "And another one.")  # starts the engine again
    qtbot.waitUntil(lambda: len(conversation.messages) == 4 and not conversation.busy, timeout=SECONDS)
    assert conversation.messages[-1].content.strip()
    press(qtbot, dialog, key, "unload")
    press(qtbot, dialog, key, "forget")
    qtbot.waitUntil(lambda: key not in dialog.rows, timeout=SECONDS)
    assert path.exists()  # the file is in the user's own folder, so it stays
    own.parent.mkdir(exist_ok=True)
    path.rename(own)  # as if it had been downloaded
    chickadee.models.controller.scan()
    press(qtbot, dialog, ("here", own), "remove")
    qtbot.waitUntil(lambda: ("here", own) not in dialog.rows, timeout=SECONDS)
    qtbot.mouseClick(dialog.close_button, Qt.MouseButton.LeftButton)
    assert not own.exists()


def watch(chickadee: Chickadee, qtbot: QtBot) -> None:
    """Open the engine monitor after the answer, and check what it shows."""
    chickadee.window.commands.run("engine")
    panel = chickadee.chats.engine_monitor.panel
    qtbot.waitUntil(lambda: "Writing: " in panel.speed.text(), timeout=SECONDS)
    assert "in this chat" in panel.saved.text()
    assert chickadee.engine.state.statistics

    def cached() -> int:
        """Return the chat's cached and pending tokens; how many are saved to disk by now is a matter of time."""
        kinds = ("Kept, saved to disk", "Kept, in memory only", "Pending")
        return sum(int(part.text) for part in panel.cache.segments if part.name in kinds)

    qtbot.waitUntil(lambda: 0 < cached() == chickadee.engine.state.context_tokens, timeout=SECONDS)
    assert [part.name for part in panel.planned.segments] == ["Weights", "KV cache", "Other chats", "Other"]
    if os.environ[JOURNEY] == "measurements":  # they take many seconds of all cores
        qtbot.waitUntil(lambda: panel.costs is not None, timeout=SECONDS)


def test_the_trap_hears_an_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(TRAP)
    monkeypatch.setenv("TRAPPED", str(tmp_path / "trapped"))
    script = "import socket; s = socket.socket(); s.settimeout(1); s.connect_ex(('127.0.0.1', 9))"
    subprocess.run([sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": str(tmp_path)}, check=True)
    assert "socket.connect ('127.0.0.1', 9)" in (tmp_path / "trapped").read_text()
