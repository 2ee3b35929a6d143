"""The window and its local API together, pressed at random: switches of models, stops, hang-ups, a dying engine."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from app.wiring import Chickadee
from engine import client
from models.default import default_model
from tests.app.conftest import Opener
from tests.app.control.test_api_controller import free_port
from tests.engine.api.test_random_clients import LONGEST, Client
from tests.engine.test_client_process import children_with

SECONDS = float(os.environ.get("CHICKADEE_RANDOM_SECONDS", "60"))
SIGNALS = tuple(getattr(signal, name, signal.SIGTERM) for name in ("SIGKILL", "SIGSTOP", "SIGSEGV", "SIGTERM"))


class Hand:
    """A user who presses anything."""

    def __init__(self, chickadee: Chickadee, models: list[Path], seed: int) -> None:
        self.chickadee, self.models, self.dice = chickadee, models, random.Random(seed)
        self.asked = 0

    def press(self) -> None:
        engine = self.chickadee.engine
        presses = {
            self.ask: 6,
            self.chickadee.chats.chat.stop: 2,
            lambda: self.chickadee.window.commands.run("new_chat"): 2,
            self.open_a_chat: 2,
            self.delete_a_chat: 1,
            lambda: engine.model.use(self.dice.choice(self.models)): 1,
            engine.model.unload: 1,
            engine.model.start: 1,
            self.hurt: 2,
        }
        self.dice.choices(list(presses), list(presses.values()))[0]()

    def ask(self) -> None:
        if not self.chickadee.open_chats.current.busy:
            self.asked += 1
            self.chickadee.chats.drafts.send(self.dice.choice(("Name a bird.", "Tell me a story.", "bird " * 300)))

    def open_a_chat(self) -> None:
        if chats := self.chickadee.open_chats.chats():
            self.chickadee.open_chats.open(self.dice.choice(chats).id)

    def delete_a_chat(self) -> None:
        if chats := self.chickadee.open_chats.chats():
            self.chickadee.chats.list.delete([self.dice.choice(chats).id])
            if self.dice.random() < 0.5:
                self.chickadee.window.notice.button.click()

    def hurt(self) -> None:
        for engine in engines():
            with contextlib.suppress(psutil.NoSuchProcess):
                engine.send_signal(self.dice.choice(SIGNALS))


def engines() -> list[psutil.Process]:
    """Return the engines that are this process's children."""
    return children_with({"serve", "remote"})


@pytest.mark.slow
@pytest.mark.timeout(2000)
@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be stopped by a signal")
def test_everybody_is_answered_and_nothing_is_left(
    open_window: Opener, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in {"QUIET": 2.0, "SILENT": 6.0, "GRACE": 5.0, "STARTING": 15.0}.items():
        monkeypatch.setattr(client, name, seconds)
    other, broken = tmp_path / "other.gguf", tmp_path / "broken.gguf"
    shutil.copyfile(default_model(), other)
    broken.write_bytes(b"GGUF" + bytes(100))
    chickadee = open_window(command=None, max_tokens=40)
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    port = free_port()
    chickadee.settings.change({"api.enabled": "on", "api.port": port})
    qtbot.waitUntil(lambda: bool(chickadee.api._address))
    hand = Hand(chickadee, [default_model(), other, broken], seed=61)
    until = time.monotonic() + SECONDS
    programs = [Client(port, seed, until) for seed in range(2)]
    for program in programs:
        program.start()
    while time.monotonic() < until:
        hand.press()
        assert len(engines()) <= 1
        qtbot.wait(hand.dice.choice((10, 100, 500, 1500)))
    chickadee.engine.model.use(default_model())
    for chat in chickadee.open_chats.chats():  # they go before other programs, and may be many
        conversation = chickadee.open_chats.conversation(chat.id)
        if conversation and conversation.busy:
            chickadee.engine.stop(conversation)
    qtbot.waitUntil(lambda: not any(program.is_alive() for program in programs), timeout=2 * LONGEST * 1000)
    chats = [chickadee.open_chats.conversation(chat.id) for chat in chickadee.open_chats.chats()]
    qtbot.waitUntil(lambda: not any(chat.busy for chat in chats if chat))
    assert hand.asked > SECONDS / 10
    chickadee.window.close()
    assert not engines()
