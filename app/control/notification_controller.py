"""Desktop notifications: says when a long answer has ended while the window is in the background."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QSystemTrayIcon

from app.control.chat_controller import ChatController
from app.look.theme import application_icon
from app.settings.settings import Settings
from app.state.conversation import Conversation
from app.state.open_chats import OpenChats
from app.store.chat import ChatMessage
from app.window import NAME, Window
from app.words import tr

SETTING = "window.notify"


class NotificationController(QObject):
    """Controller of notifications. `least_seconds` is how long an answer must have taken; `clock` gives seconds.

    A notification belongs to an icon in the system's tray, which is there only until the user is back. Where there is
    no tray, the window's entry in the task bar asks for attention.
    """

    def __init__(
        self,
        window: Window,
        open_chats: OpenChats,
        chat: ChatController,
        settings: Settings,
        least_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(window)
        self._window, self._chat, self._settings = window, chat, settings
        self._least_seconds, self._clock = least_seconds, clock
        self._waiting_since: dict[str, float] = {}  # by chat id: when it began to wait for its answer
        self._chat_id = ""  # the chat that the last notification is about
        self.tray = QSystemTrayIcon(application_icon(), self)
        self.tray.setToolTip(NAME)
        self.tray.messageClicked.connect(self.show_chat)
        self.tray.activated.connect(lambda _reason: self.show_chat())
        open_chats.phase_changed.connect(self._note_begin)
        open_chats.answer_ended.connect(self._answer_ended)
        window.installEventFilter(self)

    def close(self) -> None:
        self.tray.hide()

    def show_chat(self) -> None:
        """Bring the window to the front and open the chat whose answer has ended."""
        self._window.raise_window()
        if self._chat_id:
            self._chat.open(self._chat_id)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.WindowActivate:  # the user is back
            self.tray.hide()
        return False

    def _note_begin(self, conversation: Conversation) -> None:
        if conversation.busy:
            self._waiting_since.setdefault(conversation.chat.id, self._clock())
        elif not conversation.messages or conversation.messages[-1].role != "assistant":  # it was withdrawn
            self._waiting_since.pop(conversation.chat.id, None)

    def _answer_ended(self, conversation: Conversation, answer: ChatMessage) -> None:
        started_at = self._waiting_since.pop(conversation.chat.id, None)
        took = 0.0 if started_at is None else self._clock() - started_at
        in_background = QApplication.activeWindow() is None or self._window.isMinimized()
        if took < self._least_seconds or answer.stop_reason == "cancelled" or not in_background:
            return
        if self._settings.values[SETTING] == "on":
            self._notify(conversation, answer)

    def _notify(self, conversation: Conversation, answer: ChatMessage) -> None:
        self._chat_id = conversation.chat.id
        failed = answer.stop_reason in ("failed", "engine")
        title = tr("An answer could not be completed") if failed else tr("Your answer is ready")
        # The desktop may keep what it has shown, so nothing of a temporary chat is said.
        text = "" if conversation.temporary else conversation.chat.title
        QApplication.alert(self._window)
        self.tray.show()
        self.tray.showMessage(title, text or tr("Temporary chat"), application_icon())
