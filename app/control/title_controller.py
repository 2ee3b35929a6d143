"""Titles of chats: the model writes one in idle time, if the user wants that, and the first line comes back on request.

A title is asked for some seconds after an answer, while nothing else waits for the engine. Any question cuts it short;
then it is asked for again.
"""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.control.chat_list_controller import ChatListController
from app.services.timers import Debounce
from app.settings.settings import Settings
from app.state.conversation import Conversation
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.state.titles import LEAST_PARAMETERS, MOST_TOKENS, clean_title, first_line_title, title_question
from app.store.chat import ChatMessage
from app.window import Window
from app.words import tr

SETTING = "window.titles"
WHOLE = ("end", "stop", "length")  # ends of an answer that is worth a title


class TitleController(QObject):
    """Controller of the setting `window.titles`, and of the command that gives a chat its first line back."""

    def __init__(
        self,
        window: Window,
        open_chats: OpenChats,
        engine: EngineQueue,
        chat_list: ChatListController,
        settings: Settings,
        pause_ms: int,
    ) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._engine = window, open_chats, engine
        self._list, self._settings = chat_list, settings
        self._next: Conversation | None = None
        self._tried: set[str] = set()  # ids of chats for which the model wrote nothing that is a title
        self._pause = Debounce(self._ask, pause_ms, self)
        open_chats.answer_ended.connect(self._answer_ended)
        window.commands.bind("first_line", lambda: self.use_first_line(open_chats.current.chat.id))
        window.sidebar.list.action_requested.connect(self._do_action)

    def use_first_line(self, chat_id: str) -> None:
        """Give the chat its first line as its title, with an undo."""
        if not self._open_chats.is_listed(chat_id):
            return
        self._list.do(lambda: self._open_chats.load(chat_id), self._use_first_line)

    def _use_first_line(self, conversation: Conversation) -> None:
        before = conversation.chat
        title = first_line_title(conversation.messages) or before.title
        conversation.update_entry(title=title, title_from="user")

        def undo() -> None:
            if conversation.chat.title == title:  # else the user has renamed it since
                conversation.update_entry(title=before.title, title_from=before.title_from)

        if before.title != title:
            self._window.notice.post_undo(lambda: tr("The title is now “{title}”.", title=title), undo)

    def _do_action(self, what: str, ids: list[str], _value: object) -> None:
        if what == "first_line":
            self.use_first_line(ids[0])

    def _answer_ended(self, conversation: Conversation, answer: ChatMessage) -> None:
        if answer.stop_reason in WHOLE and self._is_wanted(conversation):
            self._next = conversation
            self._pause.request()

    def _is_wanted(self, conversation: Conversation) -> bool:
        """Return whether the loaded model is to write this chat's title."""
        model = self._engine.state.model
        able = model is not None and model.parameters >= LEAST_PARAMETERS and not self._engine.state.host
        power = self._engine.state.power
        wanted = self._settings.values[SETTING] == "on" and not (power.reason or power.postpones_idle_work)
        chat, first_line = conversation.chat, first_line_title(conversation.messages)
        fresh = not chat.title_from and chat.title == first_line and chat.id not in self._tried
        return able and wanted and fresh and not conversation.busy and conversation.state != "gone"

    def _ask(self) -> None:
        conversation, self._next = self._next, None
        if conversation is None or not self._is_wanted(conversation):
            return

        def written(text: str | None) -> None:
            if text is None:  # the engine has other work
                self._next = self._next or conversation
                self._pause.request()
                return
            title = clean_title(text, conversation.messages)
            if text and not title:
                self._tried.add(conversation.chat.id)
            elif title and self._is_wanted(conversation):
                conversation.update_entry(title=title, title_from="model")

        self._engine.idle.ask_title(conversation, title_question(conversation.messages), MOST_TOKENS, written)
