"""Web pages by link: offered while the message has one, fetched on a press alone, and shown as an attachment."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from app.composer.chips import Chip
from app.composer.page_offers import PageOffer
from app.store.chat_store import ChatStore
from app.store.formats import decode_chat, encode_chat, markdown_of
from app.wiring import Chickadee
from engine.protocol.requests import Generate
from tests.app.conftest import Opener, Requests
from tests.app.test_access import press_round, spoken_name
from tests.app.test_window import done
from tests.engine.remote.page_server import PageServer, page_server

Ask = Callable[[Chickadee, str], None]


@pytest.fixture(scope="module")
def running() -> Iterator[PageServer]:
    with page_server() as server:
        yield server


@pytest.fixture
def server(running: PageServer) -> PageServer:
    running.paths.clear()
    running.gone.clear()
    return running


def offers(chickadee: Chickadee) -> list[PageOffer]:
    return [chip for chip in chickadee.window.composer.offers.widgets if isinstance(chip, PageOffer)]


def chips(chickadee: Chickadee) -> list[Chip]:
    return [chip for chip in chickadee.window.composer.tray.chips.widgets if isinstance(chip, Chip)]


def write(chickadee: Chickadee, qtbot: QtBot, text: str) -> None:
    chickadee.window.composer.text.setPlainText(text)
    qtbot.waitUntil(lambda: not chickadee.chats.pages._pause.waiting)


def read(chickadee: Chickadee, qtbot: QtBot) -> None:
    """Press the first offer, and wait until the page is attached or refused."""
    offers(chickadee)[0].face.click()
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.draft.reading)  # type: ignore[union-attr]


def test_a_page_is_read_on_a_press_and_sent_with_the_question(
    chickadee: Chickadee, qtbot: QtBot, server: PageServer, requests: Requests
) -> None:
    write(chickadee, qtbot, f"What do they eat? {server.url}/page")
    assert len(offers(chickadee)) == 1
    assert server.paths == []
    read(chickadee, qtbot)
    assert server.paths == ["/page"]
    assert offers(chickadee) == []
    (chip,) = chips(chickadee)
    assert chip.face.accessibleName().startswith("Web page Chickadees & winter, 127.0.0.1:")
    qtbot.waitUntil(lambda: chickadee.open_chats.current.draft.fit == "all")  # type: ignore[union-attr]
    chickadee.window.composer.submit()
    qtbot.waitUntil(lambda: done(chickadee))
    sent = next(request for request in requests() if isinstance(request, Generate))
    page = chickadee.open_chats.current.messages[0].attachments[0]
    assert sent.messages[-1].content.startswith(
        f'Web page "Chickadees & winter" ({page.host}, read on {page.read_on}):\n```\n# In winter\n'
    )
    assert "Cookies" not in sent.messages[-1].content
    stored = ChatStore(chickadee.folders.store)
    chat = stored.chats()[0]
    assert stored.messages(chat)[0].attachments == (page,)
    entry = msgspec.json.decode(encode_chat(chat, stored.messages(chat)))
    stored.close()
    assert decode_chat(entry, 0.0)[1][0].attachments == (page,)
    for wrong in ("http://[no-address", "javascript:alert(1)", "https://a.org/> [x](y", "x"):
        entry["messages"][0]["attachments"][0]["address"] = wrong
        with pytest.raises(ValueError, match=r"address|IPv6"):
            decode_chat(entry, 0.0)
    assert f"read on {page.read_on}" in markdown_of(chat, chickadee.open_chats.current.messages)[0]
    assert f"(<{server.url}/page>)" in markdown_of(chat, chickadee.open_chats.current.messages)[0]


def test_a_page_that_cannot_be_read_is_told_and_offered_again(
    chickadee: Chickadee, qtbot: QtBot, server: PageServer
) -> None:
    for path, sentence in (("/status/404", "There is no page at this address on"), ("/empty", "shows no text without")):
        write(chickadee, qtbot, f"{server.url}{path} please")
        read(chickadee, qtbot)
        assert sentence in chickadee.window.notice.text.text()
        assert chips(chickadee) == []
        assert len(offers(chickadee)) == 1


def test_removing_the_chip_cancels_the_fetch(chickadee: Chickadee, qtbot: QtBot, server: PageServer) -> None:
    write(chickadee, qtbot, f"{server.url}/silent")
    offers(chickadee)[0].face.click()
    qtbot.waitUntil(lambda: server.paths == ["/silent"])
    chips(chickadee)[0].remove.trigger()
    assert server.gone.wait(60)
    assert chickadee.chats.drafts.files._pages._running == set()
    assert chips(chickadee) == []
    qtbot.waitUntil(lambda: len(offers(chickadee)) == 1)


def test_the_keyboard_reads_and_declines(chickadee: Chickadee, qtbot: QtBot, server: PageServer) -> None:
    composer = chickadee.window.composer
    chickadee.window.activateWindow()
    composer.setFocus()
    write(chickadee, qtbot, f"{server.url}/page {server.url}/text")
    first, second = offers(chickadee)
    second.face.setFocus()
    qtbot.keyClick(second.face, Qt.Key.Key_Delete)
    assert offers(chickadee) == [first]
    assert QApplication.focusWidget() is composer.text
    assert server.paths == []
    chickadee.window.commands.run("read_page")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.draft.reading)  # type: ignore[union-attr]
    assert server.paths == ["/page"]
    assert len(chips(chickadee)) == 1


def test_tab_reaches_each_offer_and_a_screen_reader_can_name_it(chickadee: Chickadee, qtbot: QtBot) -> None:
    chickadee.window.activateWindow()
    chickadee.window.composer.setFocus()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is chickadee.window.composer.text)
    write(chickadee, qtbot, "https://a.org/x https://b.org/y")
    turn = press_round(80, qtbot, Qt.Key.Key_Tab)
    names = [turn[chip.face] for chip in offers(chickadee)]
    assert names == ["Read this page: a.org/x", "Read this page: b.org/y"]
    assert all(spoken_name(chip.close_button).startswith("Do not read") for chip in offers(chickadee))


def test_the_command_says_that_there_is_no_link(chickadee: Chickadee) -> None:
    chickadee.window.commands.run("read_page")
    assert chickadee.window.notice.text.text().startswith("The message has no link")


def test_nothing_is_offered_or_fetched_while_connections_are_turned_off(
    chickadee: Chickadee, qtbot: QtBot, server: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(chickadee, qtbot, f"{server.url}/page")
    assert len(offers(chickadee)) == 1
    for switch in ({"models.network": "forbidden"}, {"window.read_pages": "off"}):
        chickadee.settings.change(switch)
        assert offers(chickadee) == []
        if "models.network" in switch:
            chickadee.window.commands.run("read_page")
            assert "Connections are turned off" in chickadee.window.notice.text.text()
        chickadee.settings.reset(list(switch))
        assert len(offers(chickadee)) == 1
    monkeypatch.setenv("CHICKADEE_OFFLINE", "1")
    chickadee.chats.pages._offer()
    assert offers(chickadee) == []
    chickadee.chats.pages.read(f"{server.url}/page")
    assert "Connections are turned off" in chickadee.window.notice.text.text()
    assert server.paths == []


def test_each_chat_has_its_own_offers(chickadee: Chickadee, qtbot: QtBot, ask: Ask) -> None:
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: done(chickadee))
    write(chickadee, qtbot, "https://example.org/x")
    assert len(offers(chickadee)) == 1
    chickadee.window.commands.run("new_chat")
    assert offers(chickadee) == []


def test_a_restart_keeps_the_page_and_does_not_offer_it_again(
    open_window: Opener, qtbot: QtBot, server: PageServer
) -> None:
    chickadee = open_window()
    write(chickadee, qtbot, f"{server.url}/page")
    read(chickadee, qtbot)
    chickadee.window.close()
    again = open_window()
    qtbot.waitUntil(lambda: len(chips(again)) == 1)
    assert offers(again) == []
    chips(again)[0].face.click()
    about = [part for part in again.window.findChildren(QLabel) if part.objectName() == "settingHelp"]
    assert any(server.url in part.text() for part in about)


def test_a_page_that_was_read_can_be_removed(chickadee: Chickadee, qtbot: QtBot, server: PageServer) -> None:
    """What has ended was cancelled once more, and its object was gone."""
    write(chickadee, qtbot, f"{server.url}/page please")
    read(chickadee, qtbot)
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    chips(chickadee)[0].remove.trigger()
    assert chips(chickadee) == []
