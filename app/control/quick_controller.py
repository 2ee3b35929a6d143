"""The quick window: opens for `--ask` or the tray icon, asks its questions, and gives its chat to the main window."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from app.control.chat_controller import ChatController
from app.control.draft_controller import DraftController
from app.control.snippet_controller import SnippetController
from app.look.live import LiveAction
from app.look.speech import announce
from app.look.theme import application_icon
from app.markdown.guard import ask_about_link
from app.markdown.spoken import SpokenText
from app.quick_window import QuickWindow
from app.services.frames import FirstFrame
from app.settings.settings import Settings
from app.state.conversation import Conversation
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.store.chat import ChatMessage
from app.window import NAME, Window
from app.words import mark, tr

TRAY = "window.tray"
ACTIVATION = "XDG_ACTIVATION_TOKEN"  # Qt takes it from there, and Wayland then gives the window the keys
FRAME = "quick"  # end of the name of the file that reports the window's first frame


class QuickController(QObject):
    """Controller of the quick window, which is made at its first use."""

    def __init__(  # noqa: PLR0913
        self,
        window: Window,
        open_chats: OpenChats,
        engine: EngineQueue,
        chat: ChatController,
        drafts: DraftController,
        snippets: SnippetController,
        settings: Settings,
    ) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._engine, self._chat = window, open_chats, engine, chat
        self._drafts, self._snippets, self._settings = drafts, snippets, settings
        self.quick: QuickWindow | None = None
        self.conversation: Conversation | None = None
        self.tray: QSystemTrayIcon | None = None
        self._said_where = False
        open_chats.phase_changed.connect(self._changed)
        open_chats.progress_changed.connect(self._changed)
        open_chats.message_added.connect(lambda conversation, _message: self._changed(conversation))
        open_chats.answer_ended.connect(self._answer_ended)
        engine.state.phase_changed.connect(lambda _state: self._show_waiting())
        engine.state.progress_changed.connect(lambda _state: self._show_waiting())
        settings.changed.connect(self._apply_tray)
        window.commands.bind("ask", self.open)
        window.left_running.connect(self._say_where_it_is)
        self._apply_tray()

    def close(self) -> None:
        if self.tray is not None:
            self.tray.hide()
        if self.quick is not None:
            if typed := self.quick.text.toPlainText().strip():  # the next start puts it into the composer
                if self._open_chats.current.temporary:
                    self._open_chats.new()
                self._window.composer.append_text(typed)
            self.quick.close()
            self.quick.deleteLater()
            self.quick = None

    def open(self, text: str = "", token: str = "") -> None:
        """Show the window with a new chat, or the present one while it is visible, and ask `text` unless it is "".

        `token` is what the desktop gave a second start, so that the window may take the keys.
        """
        if token:
            os.environ[ACTIVATION] = token
        quick = self.quick or self._make()
        conversation = self.conversation
        if conversation is None or (not quick.isVisible() and not conversation.busy and conversation.messages):
            conversation = self._begin()
        quick.raise_window()
        FirstFrame(quick, FRAME)
        if text.strip() and not conversation.busy:
            self._send(text)
        elif text.strip():
            quick.text.setPlainText(text)

    def open_main(self) -> None:
        """Show the chat in the main window, and hide the quick window."""
        conversation, quick = self.conversation, self.quick
        if conversation is None or quick is None:
            return
        typed = quick.text.toPlainText()
        quick.text.clear()
        quick.close()
        self._window.raise_window()
        if conversation.state == "listed":
            self._chat.open(conversation.chat.id)
        else:
            self._chat.new()
        self._begin()
        if typed.strip():
            self._window.composer.append_text(typed)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _make(self) -> QuickWindow:
        quick = self.quick = QuickWindow()
        quick.sent.connect(self._send)
        quick.stopped.connect(self._stop)
        quick.main_requested.connect(self.open_main)
        quick.text.attached.connect(self._attach)
        quick.transcript.action_requested.connect(self._do_action)
        quick.transcript.column.link_clicked.connect(self._ask_about_link)
        self._snippets.serve(quick.text, quick.box, quick)
        return quick

    def _begin(self) -> Conversation:
        """Show a new chat."""
        conversation = self.conversation = self._open_chats.new_beside()
        if self.quick is not None:
            self.quick.show_conversation(conversation)
        self._show_waiting()
        return conversation

    def _send(self, text: str) -> None:
        conversation, quick = self.conversation, self.quick
        if conversation is None or quick is None:
            return
        if conversation.state in ("deleted", "gone"):  # in the main window meanwhile
            conversation = self._begin()
        if conversation.send(text):
            self._engine.submit(conversation)
        else:
            quick.text.setPlainText(text)  # no typed text is ever lost

    def _stop(self) -> None:
        if self.conversation is not None:
            self._engine.stop(self.conversation)

    def _attach(self, content: list[Path] | str | QImage) -> None:
        """Go on in the main window, which can attach files."""
        self.open_main()
        self._drafts.attach_content(content)

    def _do_action(self, id: str, what: str, value: object) -> None:
        """Copy a message here; do everything else in the main window."""
        conversation = self.conversation
        if conversation is None or id not in conversation.tree:
            return
        if what == "copy":
            QGuiApplication.clipboard().setText(conversation.tree[id].text_to_copy)
            return
        self.open_main()
        self._window.transcript.action_requested.emit(id, what, value)

    def _ask_about_link(self, address: str) -> None:
        """Ask in the main window, where the whole address is shown."""
        self._window.raise_window()
        ask_about_link(self._window.notice, address)

    def _changed(self, conversation: Conversation) -> None:
        if conversation is self.conversation and self.quick is not None:
            self.quick.show_page(conversation)
            self._show_waiting()

    def _show_waiting(self) -> None:
        if self.quick is not None and self.conversation is not None:
            self.quick.show_waiting(self._engine.state, self.conversation)

    def _answer_ended(self, conversation: Conversation, answer: ChatMessage) -> None:
        """Have a screen reader say the answer; a chat whose answer the user has seen here is not unread."""
        if conversation is not self.conversation or self.quick is None or not self.quick.isVisible():
            return
        if conversation.chat.unread_at is not None:
            conversation.update_entry(unread_at=None)
        spoken = SpokenText()
        announce(self.quick, " ".join([*spoken.feed(answer.content), *spoken.close()]))

    def _apply_tray(self) -> None:
        """Show or hide the icon in the system's tray, where the desktop has one."""
        wanted = self._settings.values[TRAY] == "on" and QSystemTrayIcon.isSystemTrayAvailable()
        if wanted and self.tray is None:
            self.tray = self._make_tray()
        if self.tray is not None:
            self.tray.setVisible(wanted)
        self._window.keep_running(wanted)

    def _say_where_it_is(self) -> None:
        """Say once that the program goes on, because closing a window ends most programs."""
        if self.tray is not None and not self._said_where:
            self._said_where = True
            self.tray.showMessage(NAME, tr("Chickadee keeps running. To quit, use the menu of this icon."))

    def _make_tray(self) -> QSystemTrayIcon:
        tray = QSystemTrayIcon(application_icon(), self)
        tray.setToolTip(NAME)
        menu = QMenu(self._window)
        for title, work in (
            (mark("Ask…"), self.open),
            (mark("Show the main window"), self._window.raise_window),
            (mark("&Quit"), self._window.quit),
        ):
            action = LiveAction(menu, title)
            action.triggered.connect(lambda _checked=False, work=work: work())
            menu.addAction(action)
        tray.setContextMenu(menu)
        tray.activated.connect(self._tray_activated)
        return tray

    def _tray_activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason == QSystemTrayIcon.ActivationReason.Trigger:
            self.open()
