"""The Storage page in the real window: stored files are listed with sizes and deleted."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.dialogs.storage_page import StoragePage
from app.folders import Folders
from app.store.kept_files import FileKind, delete_files, kinds, measure_sizes
from app.wiring import Chickadee
from common.files import TEMPORARY
from common.folders import CACHE_DIR_VARIABLE
from engine.kv.saved import SavedChats

Ask = Callable[[Chickadee, str], None]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache = tmp_path / "cache"
    (cache / "chats").mkdir(parents=True)
    (cache / "chats" / "a.kv").write_bytes(bytes(3_000_000))
    (cache / "profile.json").write_text("{}")
    monkeypatch.setenv(CACHE_DIR_VARIABLE, str(cache))
    return cache


def opened(chickadee: Chickadee, qtbot: QtBot) -> StoragePage:
    chickadee.window.commands.run("storage")
    page = chickadee.chats.storage.page
    assert page is not None
    qtbot.waitUntil(lambda: "," in page.rows["chats"].total.text())
    return page


def test_every_kind_has_its_files_and_nothing_is_counted_twice(folders: Folders, cache: Path) -> None:
    data = ("library.sqlite3", "library.sqlite3-wal", "library-damaged-1.sqlite3", "models/m.gguf",
            "collections/a/b", "snippets.json", "snippets-1.json", "settings.toml", "window.ini",
            "server-keys.json", "mine.txt")  # fmt: skip
    measured = ("calibration", "crashes", "drafts", "exits", "looked-at", "model-facts", "phrases", "profile",
                "rankings", "trial", f"{TEMPORARY}77-x")  # fmt: skip
    (cache / "model-facts.json").write_bytes(bytes(2))
    for folder, names in (
        (folders.data, data), (folders.logs, ("window.log", "window.log.1", "engine.log", "other.log")),
        (cache, [f"{name}/a" for name in measured]),
    ):  # fmt: skip
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(bytes(10))
    all_kinds = kinds(folders, cache)
    assert measure_sizes(all_kinds) == {
        "chats": (3, 30), "saved": (2, 3_000_010), "models": (1, 10), "measurements": (12, 104), "logs": (3, 30),
        "snippets": (2, 20), "collections": (1, 10), "settings": (3, 30),
    }  # fmt: skip
    asked = [kind for kind in all_kinds if kind.question]
    assert [kind.name for kind in asked] == ["chats", "saved", "collections", "measurements", "logs"]
    assert [kind.name for kind in asked if not kind.plain] == ["chats"]
    assert [delete_files(kind) for kind in asked if kind.plain] == [[]] * 4
    left = measure_sizes(all_kinds)
    assert {name for name, size in left.items() if size != (0, 0)} == {"chats", "models", "snippets", "settings"}
    assert (folders.data / "mine.txt").exists()
    assert (folders.logs / "other.log").exists()


def test_what_is_saved_of_chats_is_as_large_as_the_engine_counts_it(folders: Folders, cache: Path) -> None:
    for name in ("b.json", "b.kv", "c.77.part", ".c.json.k2x_9"):
        (cache / "chats" / name).write_bytes(bytes(500))
    saved = measure_sizes(kinds(folders, cache))["saved"]
    assert saved == (5, 3_002_000)
    assert SavedChats(cache / "chats").used_bytes == saved[1]
    (cache / f"{TEMPORARY}77-x7").write_bytes(bytes(30))  # a cache that is being moved into a larger one
    assert measure_sizes(kinds(folders, cache))["saved"] == (6, 3_002_030)


def test_every_folder_of_the_cache_that_the_engine_names_is_listed(folders: Folders, cache: Path) -> None:
    root = Path(__file__).parents[3]
    source = "".join(path.read_text("utf-8") for room in ("engine", "models") for path in (root / room).rglob("*.py"))
    named = set(re.findall(r'(?:cache_folder\(\) / |\bStore\()"([^"]+)"', source))
    assert named >= {"calibration", "chats", "looked-at", "phrases"}
    for name in named:
        (cache / name).mkdir(exist_ok=True)
        (cache / name / "a").write_bytes(bytes(5))
    found = {path for kind in kinds(folders, cache) for path in kind.paths()}
    assert {cache / name for name in named} <= found


def test_links_out_of_the_folder_are_not_followed(folders: Folders, cache: Path, tmp_path: Path) -> None:
    outside = tmp_path / "mine.txt"
    outside.write_text("not Chickadee's")
    (cache / "chats" / "link").symlink_to(outside)
    saved = next(kind for kind in kinds(folders, cache) if kind.name == "saved")
    assert delete_files(saved) == []
    assert outside.exists()
    assert not (cache / "chats").exists()


def test_files_that_vanish_meanwhile_do_not_count(cache: Path) -> None:
    class Vanishing(FileKind):
        def paths(self) -> Iterator[Path]:
            yield from (self.folder / "gone", self.folder / "profile.json")

    assert measure_sizes([Vanishing("a", "", "", cache, ())]) == {"a": (1, 2)}


def test_what_cannot_be_deleted_is_named(folders: Folders, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(_self: Path, missing_ok: bool = False) -> None:
        raise PermissionError("no")

    monkeypatch.setattr(Path, "unlink", refuses)
    measurements = next(kind for kind in kinds(folders, cache) if kind.name == "measurements")
    assert delete_files(measurements) == [str(cache / "profile.json")]


def test_a_folder_that_cannot_be_deleted_is_named_by_text(
    folders: Folders, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(_path: object, dir_fd: int | None = None) -> None:
        raise OSError("Directory is not empty")

    monkeypatch.setattr("os.rmdir", refuses)
    saved = next(kind for kind in kinds(folders, cache) if kind.name == "saved")
    assert delete_files(saved) == [str(cache / "chats")]


def test_it_is_a_page_of_the_settings_which_a_search_finds_too(
    cache: Path, chickadee: Chickadee, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, dialog = opened(chickadee, qtbot), chickadee.settings_controller.dialog
    assert dialog
    assert dialog.headings["storage"].isVisible()
    assert (
        dialog.headings["storage"].visibleRegion().boundingRect().height() > 0
    )  # the dialog has scrolled to the section
    assert dialog.section_buttons["storage"].hasFocus()
    qtbot.keyClicks(dialog.search, "speed results")
    assert [name for name, row in page.rows.items() if row.isVisible()] == ["measurements"]
    assert not any(row.isVisible() for row in dialog.rows.values())
    folders: list[str] = []

    def show(url: QUrl) -> bool:
        folders.append(url.toLocalFile())
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", show)
    qtbot.mouseClick(page.rows["measurements"].open_button, Qt.MouseButton.LeftButton)
    assert [Path(folder) for folder in folders] == [cache]
    dialog.accept()
    assert chickadee.chats.storage.page is None
    chickadee.settings_controller.open()
    assert chickadee.chats.storage.page is not None


def test_tab_goes_from_the_settings_through_the_page_to_the_buttons_below(
    cache: Path, chickadee: Chickadee, qtbot: QtBot
) -> None:
    page, dialog = opened(chickadee, qtbot), chickadee.settings_controller.dialog
    assert dialog
    dialog.rows["models.network"].control.setFocus()
    seen: list[QWidget | None] = []
    while dialog.close_button not in seen:
        qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Tab)
        seen.append(dialog.focusWidget())
        assert len(seen) < 50
    buttons = [button for row in page.rows.values() for button in row.findChildren(QPushButton) if button.isVisible()]
    assert [widget for widget in seen if widget in buttons] == [button for button in buttons if button.isEnabled()]


def test_deleting_asks_first(cache: Path, chickadee: Chickadee, qtbot: QtBot) -> None:
    row = opened(chickadee, qtbot).rows["saved"]
    assert row.total.text() == "1 file, 3 MB"
    row.delete_button.click()
    assert row.help.text() == "Delete the cached context? Models will read your chats again."
    row.cancel_button.click()
    assert (cache / "chats" / "a.kv").exists()
    row.delete_button.click()
    row.delete_button.click()
    qtbot.waitUntil(lambda: row.total.text() == "Empty")
    assert not (cache / "chats" / "a.kv").exists()


def test_all_chats_go_for_good_also_one_that_is_being_answered(
    cache: Path, chickadee: Chickadee, qtbot: QtBot, ask: Ask, folders: Folders
) -> None:
    ask(chickadee, "a secret plan")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    chickadee.chats.chat.new()
    ask(chickadee, "slow secret")
    qtbot.waitUntil(lambda: chickadee.open_chats.current.phase == "answering")
    answered = chickadee.open_chats.current
    row = opened(chickadee, qtbot).rows["chats"]
    row.delete_button.click()
    row.delete_button.click()
    qtbot.waitUntil(lambda: not answered.busy)
    assert chickadee.open_chats.chats() == []
    assert chickadee.open_chats.current.messages == []
    qtbot.waitUntil(lambda: not any(b"secret" in path.read_bytes() for path in folders.data.glob("library*")))
    with sqlite3.connect(folders.store) as db:
        assert db.execute("SELECT count(*) FROM chats").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM messages").fetchone() == (0,)
    db.close()


def test_a_damaged_store_goes_with_the_chats_and_a_folder_of_that_name_stays(
    cache: Path, chickadee: Chickadee, qtbot: QtBot, folders: Folders
) -> None:
    file, folder = (folders.data / f"library-damaged-{name}.sqlite3" for name in ("file", "folder"))
    file.touch()
    folder.mkdir()
    row = opened(chickadee, qtbot).rows["chats"]
    row.delete_button.click()
    row.delete_button.click()
    qtbot.waitUntil(lambda: not file.exists())
    assert folder.is_dir()
