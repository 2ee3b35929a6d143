"""The start of the program: bad input, no display, a second start, the self-test, and a whole journey."""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.folders import Folders, open_folders
from app.store.exchange import MARKDOWN
from app.wiring import Chickadee
from common.failures import Failure
from models.default import default_model
from tests.app.conftest import SECONDS, Opener
from tests.app.small_disk import fill_up, small_disk
from tests.app.test_window import stored
from tests.app.unprivileged import permissions_hold

CHECKOUT = Path(__file__).resolve().parent.parent.parent


def start(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    settings |= {"QT_QPA_PLATFORM": "offscreen"} | environment
    command = [sys.executable, "-m", "app", *arguments]
    return subprocess.run(command, env=settings, cwd=CHECKOUT, capture_output=True, text=True, timeout=SECONDS / 1000)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems always have a display")
def test_without_a_display_the_terminal_is_named() -> None:
    done = start(QT_QPA_PLATFORM="")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "There is no display to open a window on. `make chat` chats in the terminal instead.\n"


def test_bad_models_are_told(tmp_path: Path) -> None:
    text, cut = tmp_path / "a.gguf", tmp_path / "cut.gguf"
    text.write_text("no model")
    with default_model().open("rb") as whole:
        cut.write_bytes(whole.read(100_000))
    for path, words in (
        (tmp_path / "no", "no file"),
        (tmp_path, "is a folder"),
        (text, "not a GGUF"),
        (cut, "damaged"),
    ):
        done = start("--model", str(path))
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_a_data_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    done = start("--data-dir", str(file / "below"))
    assert done.returncode == 1
    assert done.stderr.startswith(f"Chickadee cannot write to its folder {file / 'below'}")
    assert "Traceback" not in done.stderr
    with pytest.raises(Failure):
        open_folders(file)


def test_a_data_folder_that_may_only_be_read_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o500)
    with permissions_hold(), pytest.raises(Failure, match="Check its permissions") as caught:
        open_folders(folder)
    assert str(folder) in str(caught.value)


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_folders_are_private(tmp_path: Path) -> None:
    folders = open_folders(tmp_path / "data")
    assert folders.data.stat().st_mode & 0o777 == 0o700
    assert folders.logs.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_folder_of_the_users_stays_as_it_is(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "logs").mkdir(parents=True)
    for folder in (shared, shared / "logs"):
        folder.chmod(0o775)
        (folder / ".writable").write_text("the user's own")
    open_folders(shared)
    for folder in (shared, shared / "logs"):
        assert folder.stat().st_mode & 0o777 == 0o775
        assert (folder / ".writable").read_text() == "the user's own"
        assert {path.name for path in folder.iterdir()} <= {"logs", ".writable"}


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_all_folders_that_are_made_on_the_way_are_private(tmp_path: Path) -> None:
    open_folders(tmp_path / "a" / "b")
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "a", tmp_path / "a" / "b")} == {0o700}


def test_a_disk_that_is_full_is_told(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        fill_up(disk)
        done = start("--data-dir", str(disk))
        assert done.returncode == 1
        assert done.stderr.startswith(f"Chickadee cannot write to its folder {disk}: No space left on device.")
        assert "Traceback" not in done.stderr
        assert [path.name for path in disk.iterdir()] == ["filler"]


@pytest.mark.slow
def test_the_self_test_passes() -> None:
    done = start("--self-test")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("self-test passed")


def test_the_self_test_can_fail(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    with default_model().open("rb") as whole:
        broken.write_bytes(whole.read(20_000_000))
    done = start("--self-test", "--model", str(broken))
    assert done.returncode != 0
    assert done.stderr.strip()


def test_the_journey(
    open_window: Opener, ask: Callable[[Chickadee, str], None], qtbot: QtBot, folders: Folders, tmp_path: Path
) -> None:
    """Send, stream, stop, kill the engine, send again, export and restart, with the real engine and default model."""
    chickadee = open_window(command=None)
    ask(chickadee, "Count from one to five hundred in words.")
    conversation = chickadee.open_chats.current
    # The model may answer briefly; then there is nothing to stop.
    qtbot.waitUntil(lambda: len(conversation.answer_text) > 40 or not conversation.busy, timeout=SECONDS)
    if conversation.busy:
        qtbot.mouseClick(chickadee.window.composer.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not conversation.busy, timeout=SECONDS)
    assert conversation.messages[-1].stop_reason in ("cancelled", "end")

    ask(chickadee, "Tell me a very long story about a bird.")
    qtbot.waitUntil(lambda: len(conversation.answer_text) > 20, timeout=SECONDS)
    psutil.Process(chickadee.process.pid).kill()
    qtbot.waitUntil(chickadee.window.notice.isVisible, timeout=SECONDS)
    partial = conversation.messages[-1]
    assert partial.stop_reason == "engine"
    assert len(partial.content) > 20

    ask(chickadee, "Say hello.")
    qtbot.waitUntil(lambda: len(conversation.answer_text) > 3 or len(conversation.messages) == 6, timeout=SECONDS)
    chickadee.chats.chat.stop()
    qtbot.waitUntil(lambda: not conversation.busy, timeout=SECONDS)
    shown = [view.text for view in chickadee.window.transcript.views]
    assert len(shown) == 6
    exported = tmp_path / "Große Vögel 鸟.md"
    chickadee.chats.import_export.export([conversation.chat.id], str(exported), MARKDOWN)
    qtbot.waitUntil(exported.exists, timeout=SECONDS)
    told = exported.read_text(encoding="utf-8")
    assert all(text.strip() in told for text in shown)
    chickadee.window.close()
    assert [content for _, content, _ in stored(folders)] == shown

    again = open_window(command=None)
    again.chats.chat.open(conversation.chat.id)
    qtbot.waitUntil(lambda: [view.text for view in again.window.transcript.views] == shown, timeout=SECONDS)


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals and permissions")
def test_an_interrupt_closes_the_window_and_all_files_are_private(tmp_path: Path) -> None:
    data = tmp_path / "data"
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "--data-dir", str(data)],
        cwd=CHECKOUT, env=os.environ | {"QT_QPA_PLATFORM": "offscreen"}, stderr=subprocess.PIPE,
    )  # fmt: skip
    while process.poll() is None and not loaded(data):
        time.sleep(0.05)
    files = [path for path in data.rglob("*") if path.is_file()]
    assert {oct(path.stat().st_mode & 0o777) for path in files} == {"0o600"}
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=SECONDS / 1000)
    assert (process.returncode, errors) == (0, b"")
    assert (data / "window.ini").stat().st_mode & 0o777 == 0o600


def test_a_window_that_is_closed_while_the_disk_is_full_ends_clean(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 2 << 20) as data:
        process = subprocess.Popen(
            [sys.executable, "-m", "app", "--data-dir", str(data)],
            cwd=CHECKOUT, env=os.environ | {"QT_QPA_PLATFORM": "offscreen"}, stderr=subprocess.PIPE,
        )  # fmt: skip
        while process.poll() is None and not loaded(data):
            time.sleep(0.05)
        log = data / "logs" / "window.log"
        with log.open("ab") as file:  # the file's last page has free space even on a full disk
            file.write(b"\n" * (-log.stat().st_size % mmap.PAGESIZE))
        fill_up(data)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=SECONDS / 1000)
        assert (process.returncode, errors) == (0, b"")


def loaded(data: Path) -> list[str]:
    """Return the models that a window with this folder has loaded, the latest first."""
    if not (data / "library.sqlite3").exists():
        return []
    with contextlib.closing(sqlite3.connect(data / "library.sqlite3", timeout=SECONDS / 1000)) as db:
        return [path for (path,) in db.execute("SELECT path FROM recent_models ORDER BY opened_at DESC")]


DIALOGS_ON_NO_DISPLAY = "import sys; from app import __main__, fatal; fatal.DISPLAYLESS = (); sys.exit(__main__.main())"


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
@pytest.mark.parametrize("signals", [(signal.SIGTERM,), (signal.SIGINT, signal.SIGTERM)])
def test_a_session_ends_without_a_dialog_though_the_data_folder_is_gone(
    tmp_path: Path, signals: tuple[signal.Signals, ...]
) -> None:
    data = tmp_path / "data"
    process = subprocess.Popen(
        [sys.executable, "-c", DIALOGS_ON_NO_DISPLAY, "--data-dir", str(data)],
        cwd=CHECKOUT, env=os.environ | {"QT_QPA_PLATFORM": "offscreen"}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while process.poll() is None and not loaded(data):
        time.sleep(0.05)
    shutil.rmtree(data)
    for number in signals:
        process.send_signal(number)
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "could not be saved" in errors
