"""Has a screen reader say an answer sentence by sentence while it is written, and how the answer ended."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible

from app.look.speech import announce
from app.markdown.spoken import SpokenText
from app.services.timers import Throttle
from app.state.conversation import Conversation
from app.state.open_chats import OpenChats
from app.store.chat import ChatMessage
from app.transcript.message_view import ENDINGS
from app.window import Window
from app.words import tr, worded
from common.reasoning import PieceKind
from common.sentences import decode_sentence


class SpeechController(QObject):
    """Announcements of the open chat's answer; notices announce themselves.

    Thoughts are not said. All sentences that are completed within `pause_ms` are said together. Without an assistive
    technology, nothing here hears of an answer's text.
    """

    def __init__(self, window: Window, open_chats: OpenChats, pause_ms: int) -> None:
        super().__init__(window)
        self._window, self._open_chats = window, open_chats
        self._heard: Conversation | None = None
        self._text = SpokenText()
        self._sentences: list[str] = []
        self._throttle = Throttle(self._say, pause_ms, self)
        open_chats.phase_changed.connect(self._phase_changed)
        open_chats.answer_ended.connect(self._answer_ended)

    def _phase_changed(self, conversation: Conversation) -> None:
        if conversation.phase == "reading" and QAccessible.isActive():
            self._stop_hearing()
            self._heard, self._text = conversation, SpokenText()
            conversation.text_appended.connect(self._hear)

    def _hear(self, text: str, kind: PieceKind) -> None:
        if kind == "text":
            self._add(self._text.feed(text))

    def _add(self, sentences: list[str]) -> None:
        if sentences and self._heard is self._open_chats.current:
            self._sentences += sentences
            self._throttle.request()

    def _say(self) -> None:
        sentences, self._sentences = self._sentences, []
        announce(self._window.transcript, " ".join(sentences))

    def _answer_ended(self, conversation: Conversation, answer: ChatMessage) -> None:
        if conversation is not self._heard:
            return
        ending = ENDINGS.get(answer.stop_reason, "")
        self._add([*self._text.close(), *([tr(ending)] if ending else [])])
        self._throttle.flush()
        self._stop_hearing()
        if answer.stop_reason == "failed" and answer.problem and conversation is self._open_chats.current:
            announce(self._window.transcript, worded(decode_sentence(answer.problem)), urgent=True)

    def _stop_hearing(self) -> None:
        if self._heard is not None:
            self._heard.text_appended.disconnect(self._hear)
        self._heard, self._sentences = None, []
        self._throttle.cancel()
