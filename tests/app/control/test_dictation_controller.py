"""Dictation in the real window, with real processes that follow a script in place of a microphone and a model."""

from __future__ import annotations

import hashlib
import wave
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from app.control import dictation_controller
from app.control.dictation_controller import TOPIC
from app.services.dictation_processes import can_dictate
from app.wiring import Chickadee
from models.locations import own_folder
from models.speech import MODELS, REPO
from tests.app.conftest import Opener
from tests.app.scripted_dictation import MODULE
from tests.models.hub_server import HubServer
from tests.models.test_speech import CONTENT

pytestmark = pytest.mark.skipif(not can_dictate(), reason="this computer has no libraries for dictation")
SECOND = b"\x00\x40" * 16_000


@pytest.fixture(autouse=True)
def hub_before_the_window(server: HubServer) -> None:
    """Start the hub first, because the window notes its address."""


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Return a WAV file of a second."""
    path = tmp_path / "said.wav"
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(SECOND)
    return path


@pytest.fixture
def voice(chickadee: Chickadee, recording: Path, known_model: Path) -> Chickadee:
    """Return the window with a speech model on the disk and scripted processes."""
    known_model.parent.mkdir(parents=True)
    known_model.write_bytes(CONTENT)
    script(chickadee, str(recording))
    return chickadee


@pytest.fixture
def known_model(chickadee: Chickadee, monkeypatch: pytest.MonkeyPatch, server: HubServer) -> Path:
    """Let the hub offer small speech models; return where the chosen one belongs."""
    digest = hashlib.sha256(CONTENT).hexdigest()
    models = {name: replace(model, size=len(CONTENT), sha256=digest) for name, model in MODELS.items()}
    monkeypatch.setattr(dictation_controller, "MODELS", models)
    for model in models.values():
        server.publish(REPO, model.file, CONTENT)
    return models["base"].path(own_folder(chickadee.settings.path))


def script(chickadee: Chickadee, recording: str, ending: str = "answers") -> None:
    processes = chickadee.chats.dictation.processes
    processes.recorder, processes.recogniser = [*MODULE, "record", recording], [*MODULE, "recognise", ending]


def press(chickadee: Chickadee, qtbot: QtBot) -> None:
    qtbot.mouseClick(button_of(chickadee), Qt.MouseButton.LeftButton)


def button_of(chickadee: Chickadee) -> QToolButton:
    return chickadee.window.composer.dictate_button


def listen(chickadee: Chickadee, qtbot: QtBot) -> None:
    """Press the microphone and wait until a second was heard."""
    press(chickadee, qtbot)
    qtbot.waitUntil(lambda: chickadee.chats.dictation.dictation.seconds == 1)


def text_of(chickadee: Chickadee) -> str:
    return chickadee.window.composer.text.toPlainText()


def problems(chickadee: Chickadee) -> list[str]:
    return [row.text.text() for row in chickadee.window.notice.rows if row.topic == TOPIC]


def test_a_text_is_inserted_at_the_cursor_as_one_undo_step(voice: Chickadee, qtbot: QtBot) -> None:
    editor = voice.window.composer.text
    qtbot.keyClicks(editor, "Buy now")
    for _ in "now":
        qtbot.keyClick(editor, Qt.Key.Key_Left)
    line = voice.window.composer.dictation
    assert not line.isVisible()
    listen(voice, qtbot)
    assert line.isVisible()
    assert (line.text.text(), line.time.text()) == ("Listening", "0:01")
    press(voice, qtbot)
    qtbot.waitUntil(lambda: text_of(voice) == "Buy 32000 bytes now")
    assert not line.isVisible()
    assert problems(voice) == []
    editor.undo()
    assert text_of(voice) == "Buy now"
    editor.redo()
    qtbot.keyClicks(editor, "and ")
    assert text_of(voice) == "Buy 32000 bytes and now"


def test_escape_ends_a_recording_with_its_text(voice: Chickadee, qtbot: QtBot) -> None:
    listen(voice, qtbot)
    qtbot.keyClick(voice.window, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: text_of(voice) == "32000 bytes")


def test_discard_drops_a_recording(voice: Chickadee, qtbot: QtBot) -> None:
    listen(voice, qtbot)
    qtbot.mouseClick(voice.window.composer.dictation.cancel, Qt.MouseButton.LeftButton)
    assert not voice.chats.dictation.dictation.busy
    assert (text_of(voice), problems(voice)) == ("", [])


def test_the_language_of_the_window_is_told(voice: Chickadee, qtbot: QtBot) -> None:
    voice.settings.change({"window.dictation_language": "window", "window.language": "zh_CN"})
    listen(voice, qtbot)
    voice.window.commands.run("dictate")
    qtbot.waitUntil(lambda: text_of(voice) == "32000 bytes zh")
    voice.settings.change({"window.language": "en"})


def test_a_text_waits_for_the_chat_in_which_it_was_said(voice: Chickadee, qtbot: QtBot, ask) -> None:
    ask(voice, "Hello")
    qtbot.waitUntil(lambda: len(voice.open_chats.current.messages) == 2 and not voice.open_chats.current.busy)
    chat = voice.open_chats.current.chat
    qtbot.keyClicks(voice.window.composer.text, "Buy")
    listen(voice, qtbot)
    press(voice, qtbot)
    voice.window.commands.run("new_temporary_chat")
    qtbot.waitUntil(lambda: not voice.chats.dictation.dictation.busy)
    assert text_of(voice) == ""
    voice.open_chats.open(chat.id)
    assert text_of(voice) == "Buy 32000 bytes"


@pytest.mark.parametrize(
    ("recorder", "ending", "sentence"),
    [
        ("dictation.no_microphone", "answers", "No microphone was found"),
        ("dictation.refused", "answers", "The microphone could not be opened"),
        ("missing.wav", "answers", "The program that records ended"),
        ("", "dies", "The program that recognises speech ended"),
        ("", "dictation.no_words", "No words were recognised"),
    ],
)
def test_what_fails_is_a_sentence(voice, qtbot, recording, recorder, ending, sentence) -> None:
    script(voice, recorder or str(recording), ending)
    press(voice, qtbot)
    qtbot.waitUntil(lambda: len(problems(voice)) == 1)
    assert problems(voice)[0].startswith(sentence)
    assert voice.chats.dictation.dictation.phase == "failed"
    script(voice, str(recording))
    listen(voice, qtbot)  # the next dictation works, and its beginning ends the notice
    assert problems(voice) == []


def test_without_a_model_the_first_press_explains_and_offers_it(
    chickadee: Chickadee, qtbot: QtBot, recording: Path, known_model: Path
) -> None:
    script(chickadee, str(recording))
    press(chickadee, qtbot)
    notice = chickadee.window.notice
    assert "ggml-base.bin: 300 kB from huggingface.co/ggerganov/whisper.cpp, MIT licence" in problems(chickadee)[0]
    assert chickadee.chats.dictation.dictation.phase == "needs_model"
    qtbot.mouseClick(notice.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "You can dictate now" in notice.text.text())
    assert known_model.read_bytes() == CONTENT
    assert all("is ready" not in row.text.text() for row in notice.rows)  # it is no model to chat with
    listen(chickadee, qtbot)


def test_without_connections_the_first_press_says_so(chickadee: Chickadee, qtbot: QtBot, known_model: Path) -> None:
    chickadee.settings.change({"models.network": "forbidden"})
    press(chickadee, qtbot)
    assert len(problems(chickadee)) == 1
    assert "Connections" in problems(chickadee)[0]


def test_a_damaged_model_is_deleted_and_offered_again(
    voice: Chickadee, qtbot: QtBot, recording: Path, known_model: Path
) -> None:
    known_model.write_bytes(b"damaged")
    script(voice, str(recording), "dictation.damaged")
    press(voice, qtbot)
    qtbot.waitUntil(lambda: len(problems(voice)) == 1)
    assert not known_model.exists()
    qtbot.mouseClick(voice.window.notice.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(known_model.exists)


def test_where_there_are_no_libraries_there_is_no_button(open_window: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dictation_controller, "can_dictate", lambda: False)
    chickadee = open_window()
    assert button_of(chickadee).isHidden()
    assert not chickadee.window.commands.is_possible("dictate")
