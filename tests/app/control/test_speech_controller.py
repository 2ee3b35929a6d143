"""What a screen reader is told: an answer's sentences, problems and finished downloads, and nothing without one."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QAccessibleEvent
from pytestqt.qtbot import QtBot

from app.markdown.spoken import SpokenText
from app.wiring import Chickadee
from common.sentences import Sentence
from models.download_queue import DownloadJob
from models.progress import DownloadProgress
from tests.app.conftest import SECONDS
from tests.app.test_window import Ask, done

POLITE, ASSERTIVE = QAccessible.AnnouncementPoliteness.Polite, QAccessible.AnnouncementPoliteness.Assertive
Said = list[tuple[str, QAccessible.AnnouncementPoliteness]]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Said:
    """Behave as if a screen reader were active, and return what it is told."""
    said: Said = []

    def note(event: QAccessibleEvent) -> None:
        if isinstance(event, QAccessibleAnnouncementEvent):
            said.append((event.message(), event.politeness()))

    monkeypatch.setattr(QAccessible, "isActive", lambda: True)
    monkeypatch.setattr(QAccessible, "updateAccessibility", note)
    return said


def test_an_answer_is_said_at_its_sentence_ends(chickadee: Chickadee, said: Said) -> None:
    conversation = chickadee.open_chats.current
    conversation.send("What?")
    conversation.begin_answer("model")
    conversation.append_text("<think>", "opened")
    conversation.append_text("Hm. Well. ", "thought")
    conversation.append_text("</think>", "closed")
    conversation.append_text("One **fine** sen", "text")
    assert said == []
    conversation.append_text("tence. And", "text")
    assert said == [("One fine sentence.", POLITE)]
    for piece in (" more. Of ", "it.\n\n", "```python\nx = 1.\ny\n```\n", "End"):
        conversation.append_text(piece, "text")
    assert len(said) == 1  # the next ones are said together
    conversation.fail_answer(Sentence.of("internal.engine"))
    assert said[1] == ("And more. Of it. Code block. End", POLITE)
    assert said[2][1] == ASSERTIVE
    assert len(said) == 3


def test_an_answer_in_another_chat_is_not_said(chickadee: Chickadee, said: Said) -> None:
    conversation = chickadee.open_chats.current
    conversation.send("What?")
    conversation.begin_answer("model")
    chickadee.chats.chat.new()
    conversation.append_text("One. Two.", "text")
    conversation.fail_answer(None, reason="cancelled")
    assert said == []


def test_without_a_screen_reader_nobody_listens(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: chickadee.open_chats.current.phase == "answering", timeout=SECONDS)
    assert len(chickadee.open_chats.current.text_appended._listeners) == 1  # the view
    chickadee.chats.chat.stop()
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)


def test_a_problem_is_said_at_once(chickadee: Chickadee, said: Said) -> None:
    chickadee.window.notice.post("The disk is full.", kind="problem")
    chickadee.window.notice.post("A chat was deleted.")
    assert said == [("The disk is full.", ASSERTIVE), ("A chat was deleted.", POLITE)]


def test_a_finished_download_is_said(chickadee: Chickadee, said: Said) -> None:
    job = DownloadJob(1, "bird.gguf", "done", DownloadProgress("receiving", 4, 4, 1), path=Path("bird.gguf"))
    chickadee.models.controller.downloads.ended.emit(job)
    assert [(text.split()[-2:], politeness) for text, politeness in said] == [(["is", "ready."], POLITE)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Version 3.11 is out. It is fast!", ["Version 3.11 is out.", "It is fast!"]),
        ("# Birds\n\n- A [chickadee](https://a.example/x).\n- An owl[^1]", ["Birds", "A chickadee.", "An owl"]),
        ("你好。再见！好", ["你好。", "再见！", "好"]),
        ("| a | b |\n|---|---|\n| `c` | 2 |\n", ["a, b", "c, 2"]),
        ("Look:\n~~~\na. b. c\n```\n~~~\nSo $x^2$.", ["Look:", "Code block.", "So $x^2$."]),
        ("long " * 100, ["long " * 80 + "long", "long " * 18 + "long"]),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_sentences(qapp: object, text: str, sentences: list[str], size: int) -> None:
    spoken = SpokenText()
    found = [each for at in range(0, len(text), size) for each in spoken.feed(text[at : at + size])]
    assert found + spoken.close() == sentences
