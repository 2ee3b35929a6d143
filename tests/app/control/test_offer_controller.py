"""Better models on the welcome page, with the real widgets, the scripted engine, the real planner and a local hub."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.composer.composer import DropHint
from app.control import model_files
from app.control.model_controller import ASKED_FROM
from app.control.offer_controller import OfferController
from app.transcript.model_offers import OfferCard
from app.wiring import Chickadee
from models import part_file
from models.catalogue import CatalogueEntry, catalogue, forget_catalogue
from models.licences import licence_name
from models.locations import own_folder
from tests.app.conftest import Opener
from tests.models.hub_server import Handler, HubServer
from tests.models.make_gguf import make_gguf

BUILT_IN = "SmolLM2-135M-Instruct.Q4_1.gguf"
Ask = Callable[[Chickadee, str], None]


@pytest.fixture(autouse=True)
def shipped_catalogue(server: HubServer) -> None:
    forget_catalogue()


@pytest.fixture
def offering(open_window: Opener, qtbot: QtBot, tmp_path: Path) -> Chickadee:
    """Return the window after its first start, when the cards are shown."""
    return started(open_window, qtbot, tmp_path)


def started(open_window: Opener, qtbot: QtBot, tmp_path: Path) -> Chickadee:
    chickadee = open_window(tmp_path / BUILT_IN)
    qtbot.waitUntil(lambda: chickadee.window.welcome.offers.isVisible())
    return chickadee


def cards(chickadee: Chickadee) -> list[OfferCard]:
    return [card for card in chickadee.window.welcome.offers.cards if not card.isHidden()]


def entry_of(card: OfferCard) -> CatalogueEntry:
    return next(entry for entry in catalogue() if entry.title == card.title.text())


def publish(server: HubServer, entry: CatalogueEntry, content: bytes, digest: str = "") -> None:
    server.publish(entry.repo, entry.file, content, digest)


def click(qtbot: QtBot, card: OfferCard) -> None:
    qtbot.mouseClick(card.button, Qt.MouseButton.LeftButton)


def download(qtbot: QtBot, chickadee: Chickadee, card: OfferCard) -> None:
    """Press the card's button, and that of the question with size and free disk before gigabytes are downloaded."""
    click(qtbot, card)
    if entry_of(card).size >= ASKED_FROM:
        notice = chickadee.window.notice
        assert "free on this disk" in notice.text.text()
        qtbot.mouseClick(notice.button, Qt.MouseButton.LeftButton)


def model_bytes(tmp_path: Path, entry: CatalogueEntry) -> bytes:
    return make_gguf(tmp_path / "made" / entry.file, architecture=entry.architecture).read_bytes()


def test_buttons_are_in_sight_at_1366_by_768(offering: Chickadee, qtbot: QtBot) -> None:
    """A panel of the desktop and the title bar take 60 pixels; before, the buttons were below the page's edge."""
    offering.window.resize(1280, 708)
    buttons = [card.button for card in cards(offering)]
    qtbot.waitUntil(lambda: all(each.visibleRegion().boundingRect() == each.rect() for each in buttons))


def test_two_models_are_named_with_size_speed_memory_licence_and_one_button(
    offering: Chickadee, server: HubServer
) -> None:
    shown = cards(offering)
    assert [card.heading.text() for card in shown] == ["Best for this computer", "Faster"][: len(shown)]
    for card in shown:
        text, entry = card.lines.text(), entry_of(card)
        for words in (
            " GB to download" if entry.size > 1e9 else " MB to download",
            licence_name(entry.licence),
            "tok/s",
        ):
            assert words in text
        assert "Reads 1,000 words in" in text
        assert "free memory" in text
        assert card.note.text() == entry.licence_note
        assert card.button.text() == "Download"
        assert card.button.accessibleName() == f"Download: {entry.title}"
    assert server.requests == []


def test_dismissed_is_dismissed_for_good(
    offering: Chickadee, open_window: Opener, qtbot: QtBot, tmp_path: Path
) -> None:
    qtbot.mouseClick(offering.window.welcome.begin, Qt.MouseButton.LeftButton)
    offers = offering.window.welcome.offers
    qtbot.mouseClick(offers.dismiss, Qt.MouseButton.LeftButton)
    assert offers.isHidden()
    offering.window.close()
    again = open_window(tmp_path / BUILT_IN)
    qtbot.waitUntil(lambda: again.engine.state.phase == "ready")
    assert again.window.welcome.offers.isHidden()
    assert not again.offers._models_requested


def test_an_unknown_model_of_the_user_is_left_in_peace(server: HubServer, chickadee: Chickadee) -> None:
    assert chickadee.window.welcome.offers.isHidden()
    assert not chickadee.offers._models_requested


def test_a_file_that_another_program_brought_is_used_where_it_is(
    server: HubServer, open_window: Opener, qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "home/.lmstudio/models/unsloth/Qwen3.5-0.8B-GGUF/Qwen3.5-0.8B-Q4_K_M.gguf"
    make_gguf(path, architecture="qwen35")
    chickadee = open_window(tmp_path / BUILT_IN)
    controller: OfferController = chickadee.offers
    qtbot.waitUntil(lambda: controller._models_requested and chickadee.models.controller.list.judged)
    key = ("here", path)
    listed = chickadee.models.controller.list
    # The tiny file cannot be planned, so the planner's answer for a real one takes its place.
    listed.verdicts[key] = listed.verdicts["entry", "qwen3.5-0.8b"]
    controller._show()
    first = cards(chickadee)[0]
    assert first.heading.text() in ("On this computer", "Best for this computer", "Faster")
    assert "from LM Studio" in first.lines.text()
    assert first.button.text() == "Use"
    click(qtbot, first)
    assert chickadee.engine.state.path == path


def test_download_pause_resume_and_continue_the_same_chat(
    offering: Chickadee, server: HubServer, qtbot: QtBot, ask: Ask, tmp_path: Path
) -> None:
    ask(offering, "Hello")
    qtbot.waitUntil(lambda: not offering.open_chats.current.busy)
    chat = offering.open_chats.current.chat.id
    offering.window.commands.run("new_chat")
    card = cards(offering)[0]
    entry = entry_of(card)
    publish(server, entry, model_bytes(tmp_path, entry))
    go_on = threading.Event()
    content = server.files[entry.file]

    def stall(handler: Handler) -> bool:
        handler.answer(200, content[: len(content) // 2], len(content), ETag=server.etag)
        handler.wfile.flush()
        return go_on.wait(60)

    server.fault = stall
    download(qtbot, offering, card)
    qtbot.waitUntil(lambda: card.bar.value() > 400)
    assert card.button.text() == "Pause"
    status = offering.window.status
    qtbot.waitUntil(lambda: "50%" in status.download.text())
    offering.chats.chat.open(chat)  # the small model answers meanwhile
    ask(offering, "And now?")
    qtbot.waitUntil(lambda: len(offering.open_chats.current.messages) == 4 and not offering.open_chats.current.busy)
    offering.window.commands.run("new_chat")
    click(qtbot, card)
    qtbot.waitUntil(lambda: card.button.text() == "Resume")
    assert "Paused" in status.download.text()
    go_on.set()
    server.fault = lambda handler: False
    offering.chats.chat.open(chat)
    offering.window.commands.run("new_chat")
    click(qtbot, card)
    notice = offering.window.notice
    qtbot.waitUntil(lambda: "is ready" in notice.text.text())
    qtbot.waitUntil(status.download.isHidden)
    offering.chats.chat.open(chat)
    qtbot.mouseClick(notice.button, Qt.MouseButton.LeftButton)
    assert offering.engine.state.path == own_folder() / entry.repo / entry.file
    qtbot.waitUntil(lambda: offering.engine.state.phase == "ready")
    assert offering.open_chats.current.chat.id == chat
    ask(offering, "Go on")
    qtbot.waitUntil(lambda: len(offering.open_chats.current.messages) == 6 and not offering.open_chats.current.busy)


def test_wrong_bytes_leave_no_file_and_say_so(
    offering: Chickadee, server: HubServer, qtbot: QtBot, tmp_path: Path
) -> None:
    card = cards(offering)[0]
    entry = entry_of(card)
    publish(server, entry, model_bytes(tmp_path, entry), digest="0" * 64)
    download(qtbot, offering, card)
    qtbot.waitUntil(lambda: "not those that were published" in card.problem.text())
    assert "not those that were published" in offering.window.notice.text.text()
    assert [*own_folder().rglob("*.gguf"), *own_folder().rglob("*.part")] == []  # the note stays, for another try


def test_no_room_is_told_before_anything_is_downloaded(
    offering: Chickadee, server: HubServer, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_file, "SPARE", 1 << 60)
    card = cards(offering)[0]
    entry = entry_of(card)
    publish(server, entry, model_bytes(tmp_path, entry))
    download(qtbot, offering, card)
    qtbot.waitUntil(lambda: "not enough disk space" in card.problem.text())
    assert all("/cdn/" not in path for path, _ in server.requests)


def test_without_connections_the_page_says_how_to_bring_a_file(offering: Chickadee) -> None:
    offering.settings.change({"models.network": "forbidden"})
    shown = cards(offering)
    assert all(card.button.isHidden() for card in shown)
    sentence = offering.window.welcome.offers.sentence.text()
    entry = entry_of(shown[0])
    assert "turned off" in sentence
    assert f"download {entry.file} from huggingface.co/{entry.repo}" in sentence
    assert "USB stick" in sentence
    offering.settings.change({"models.network": "allowed"})
    assert not shown[0].button.isHidden()
    assert offering.window.welcome.offers.sentence.isHidden()


def test_what_a_kill_left_is_offered_to_be_resumed(
    server: HubServer, open_window: Opener, qtbot: QtBot, tmp_path: Path
) -> None:
    entry = next(entry for entry in catalogue() if entry.id == "qwen3.5-0.8b")
    content = model_bytes(tmp_path, entry)
    target = own_folder() / entry.repo / entry.file
    target.parent.mkdir(parents=True)
    target.with_name(f"{entry.file}.part").write_bytes(content[:100])
    url = f"{server.address}/cdn/{entry.file}"
    source = {"url": url, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    target.with_name(f"{entry.file}.part.json").write_text(json.dumps(source))
    server.files[entry.file] = content
    chickadee = open_window()
    notice = chickadee.window.notice
    qtbot.waitUntil(lambda: "The download of Qwen3.5 0.8B stopped at 100 bytes" in notice.text.text())
    qtbot.waitUntil(lambda: "Paused" in chickadee.window.status.download.text())  # the list is shown now and then
    assert server.requests == []
    qtbot.mouseClick(notice.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "is ready" in notice.text.text())
    assert target.read_bytes() == content
    assert server.requests[-1][1] == "bytes=100-"
    chickadee.models.controller.use(target)  # not by the notice's button
    qtbot.waitUntil(lambda: not notice.rows)


def drop(chickadee: Chickadee, path: Path) -> str:
    """Drop a file on the window; return what the window says while the file is above it."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    action, button, keys = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(chickadee.window, QDragEnterEvent(QPoint(5, 5), action, data, button, keys))
    hint = chickadee.window.findChild(DropHint)
    assert hint
    words = hint.words.text()
    QApplication.sendEvent(chickadee.window, QDropEvent(QPointF(5, 5), action, data, button, keys))
    return words


def test_a_model_that_is_dropped_on_the_window_is_added_and_loaded(
    server: HubServer, chickadee: Chickadee, qtbot: QtBot, tmp_path: Path
) -> None:
    path = make_gguf(tmp_path / "stick" / "wren.gguf")
    assert drop(chickadee, path) == "Drop the model to use it"
    assert chickadee.engine.state.path == path
    qtbot.waitUntil(lambda: chickadee.models.controller.list.local_model(path) is not None)
    assert chickadee.window.composer.tray.isHidden()  # nothing was attached


def test_a_model_on_a_stick_is_copied_here(
    server: HubServer, chickadee: Chickadee, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_files, "on_other_drive", lambda path, folder: True)
    path = make_gguf(tmp_path / "stick" / "wren.gguf")
    drop(chickadee, path)
    notice = chickadee.window.notice
    assert notice.text.text().startswith("wren is on another drive.")
    qtbot.mouseClick(notice.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "You can remove the drive" in notice.text.text())
    copy = own_folder() / "copied" / "wren.gguf"
    assert copy.read_bytes() == path.read_bytes()
    assert chickadee.engine.state.path == copy
    assert [file.name for file in copy.parent.glob(".*")] == []
