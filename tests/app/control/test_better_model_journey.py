"""From a fresh data folder to a better model: named, downloaded, killed, resumed, used in the same chat, remembered.

With the real engine, the real planner and real model bytes, which a local hub offers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.folders import Folders, open_folders
from app.foundation import Foundation, Intervals
from app.window_state import WindowState
from app.wiring import Chickadee
from models.catalogue import FILE, forget_catalogue
from models.default import default_model
from tests.app.conftest import Opener
from tests.models.hub_server import Handler, HubServer

Ask = Callable[[Chickadee, str], None]
CATALOGUE = """
date = "2099-01-01"

[[model]]
id = "wren-1b"
title = "Wren 1B"
repo = "birds/Wren-1B-GGUF"
file = "Wren-1B-Q4_1.gguf"
size = {size}
licence = "apache-2.0"
about = "For computers with 4 GB: many languages in half a gigabyte."
architecture = "llama"
quantisations = ["Q4_1"]
parameters = 135_000_000
layers = 30
kv_width = 384
embedding = 576
feed_forward = 1536
vocabulary = 49152
context = 8192
languages = ["en"]
tier = 10
tier_source = "the tests"
sampling = {{ temperature = 0, repeat_penalty = 1.0 }}
"""


@pytest.fixture
def content(server: HubServer, tmp_path: Path, folders: Folders) -> bytes:
    """Return the bytes of a model that is the best of a newer catalogue, and that the local hub offers."""
    content = default_model().read_bytes()
    (folders.data / FILE).write_text(CATALOGUE.format(size=len(content)))
    forget_catalogue()
    server.publish("birds/Wren-1B-GGUF", "Wren-1B-Q4_1.gguf", content)
    return content


@pytest.mark.timeout(600)
def test_a_better_model_is_named_downloaded_resumed_used_and_remembered(
    server: HubServer,
    content: bytes,
    open_window: Opener,
    qtbot: QtBot,
    ask: Ask,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chat = named_and_half_downloaded(open_window(command=None, max_tokens=8), server, content, qtbot, ask, tmp_path)
    left = tmp_path / "as a kill leaves it"
    monkeypatch.setenv("CHICKADEE_DATA_DIR", str(left))
    forget_catalogue()
    arrived = left / "models/birds/Wren-1B-GGUF/Wren-1B-Q4_1.gguf"
    second = start(left, qtbot)
    assert second.open_chats.current.chat.id == chat
    resumed(second, server, content, qtbot, arrived)
    continued(second, qtbot, ask, arrived)
    assert second.open_chats.current.chat.id == chat
    second.window.commands.run("new_chat")
    assert second.window.welcome.offers.isHidden()
    second.window.close()
    third = start(left, qtbot)  # the next day: the same model is there
    qtbot.waitUntil(lambda: third.engine.state.phase == "ready")
    assert third.engine.state.path == arrived
    assert third.window.welcome.offers.isHidden()
    third.window.close()


def named_and_half_downloaded(
    chickadee: Chickadee, server: HubServer, content: bytes, qtbot: QtBot, ask: Ask, tmp_path: Path
) -> str:
    """Press the best model's button, ask the built-in one meanwhile, and copy the data as a kill would leave them.

    Returns the id of the chat.
    """
    go_on = threading.Event()

    def stall(handler: Handler) -> bool:
        handler.answer(200, content[: len(content) // 2], len(content), ETag=server.etag)
        handler.wfile.flush()
        return go_on.wait(300)

    server.fault = stall
    offers = chickadee.window.welcome.offers
    qtbot.waitUntil(offers.isVisible)
    card = next(card for card in offers.cards if card.title.text() == "Wren 1B")
    assert card.heading.text() == "Best for this computer"
    assert server.requests == []
    qtbot.mouseClick(card.button, Qt.MouseButton.LeftButton)
    ask(chickadee, "Say a word.")
    conversation = chickadee.open_chats.current
    qtbot.waitUntil(lambda: len(conversation.messages) == 2 and not conversation.busy)
    qtbot.waitUntil(lambda: "50%" in chickadee.window.status.download.text())
    qtbot.waitUntil(lambda: WindowState(chickadee.folders.geometry).chat == conversation.chat.id)
    copytree(chickadee.folders.data, tmp_path / "as a kill leaves it")
    go_on.set()
    chickadee.window.close()
    server.fault = lambda handler: False
    return conversation.chat.id


def resumed(chickadee: Chickadee, server: HubServer, content: bytes, qtbot: QtBot, arrived: Path) -> None:
    """Press Resume: only the second half is downloaded."""
    notice = chickadee.window.notice
    qtbot.waitUntil(lambda: "The download of Wren 1B stopped at" in notice.text.text())
    qtbot.mouseClick(notice.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "is ready." in notice.text.text())
    assert arrived.read_bytes() == content
    assert server.requests[-1][1] == f"bytes={len(content) // 2}-"


def continued(chickadee: Chickadee, qtbot: QtBot, ask: Ask, arrived: Path) -> None:
    """Press once: the chat goes on with the better model, as its makers recommend."""
    state, conversation = chickadee.engine.state, chickadee.open_chats.current
    qtbot.mouseClick(chickadee.window.notice.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: state.path == arrived and state.phase == "ready")
    ask(chickadee, "And another one.")
    qtbot.waitUntil(lambda: len(conversation.messages) == 4 and not conversation.busy)
    assert conversation.messages[-1].content.strip()
    assert chickadee.settings.options(arrived).generate.sampling.temperature == 0


def start(data: Path, qtbot: QtBot) -> Chickadee:
    intervals = Intervals(tick=50, offers=20, save_text=20, save_window=20)
    chickadee = Chickadee(Foundation(open_folders(data), None, None, 8, intervals))
    with qtbot.waitExposed(chickadee.window):
        chickadee.window.show()
    chickadee.start()
    return chickadee
