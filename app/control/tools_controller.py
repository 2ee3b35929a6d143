"""The tools of the open chat: the switch beside the message, and the question before a tool acts."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMenu

from app.control.own_tools import OwnToolWork
from app.events import Event
from app.look.menus import open_above
from app.state.conversation import Conversation
from app.state.open_chats import OpenChats
from app.state.tool_desk import ToolDesk
from app.tools.own import BUILT_IN
from app.tools.rounds import Question
from app.window import Window
from app.words import mark, tr


class ToolsController(QObject):
    """Controller of the command `use_tools`, and of the question that a call of the open chat waits for.

    `menu_made` carries the menu before its last entry, for those who have more to offer.
    """

    def __init__(self, window: Window, open_chats: OpenChats, desk: ToolDesk, own: OwnToolWork) -> None:
        super().__init__(window)
        self.menu_made: Event[QMenu] = Event()
        self._window, self._open_chats, self._desk, self._own = window, open_chats, desk, own
        desk.add(own.source)
        window.commands.bind("use_tools", self.choose)
        window.tool_question.replied.connect(self._reply)
        open_chats.follow_current(self._show, open_chats.entry_changed, open_chats.phase_changed)
        desk.changed.connect(self._show)
        self._show()

    def close(self) -> None:
        """Stop all calls, because the window closes."""
        self._desk.close()
        self._own.close()

    def choose(self) -> None:
        """Open the menu of tools at the button."""
        open_above(self.menu(), self._window.composer.tools_button)

    def menu(self) -> QMenu:
        """Return the menu: a switch for each built-in tool, one for all tools of each other source, the settings."""
        conversation = self._open_chats.current
        choices = self._desk.choices(conversation)
        menu = QMenu(self._window)
        menu.aboutToHide.connect(menu.deleteLater)
        for source in self._desk.sources:
            infos = source.tools()
            if source.id == BUILT_IN:
                rows = [(f"{info.source}/{info.name}", tr(info.title)) for info in infos]
            else:
                menu.addSeparator()
                rows = [(source.id, info.source_title) for info in infos[:1]]
            for key, words in rows:
                action = menu.addAction(words.replace("&", "&&"))
                action.setCheckable(True)
                action.setChecked(key in choices.on)
                action.toggled.connect(partial(self._switch, conversation, key))
        if choices.always or choices.never:
            menu.addSeparator()
            menu.addAction(tr("Ask me again before tools act"), partial(self._ask_again, conversation))
        menu.addSeparator()
        self.menu_made.emit(menu)
        menu.addAction(self._window.commands.actions["tool_servers"])
        return menu

    def _switch(self, conversation: Conversation, key: str, on: bool) -> None:
        self._desk.choose(conversation, self._desk.choices(conversation).switched(key, on))
        self._window.composer.setFocus()

    def _ask_again(self, conversation: Conversation) -> None:
        self._desk.choose(conversation, self._desk.choices(conversation).without_agreements())
        self._window.notice.post(lambda: tr(mark("You will be asked again before a tool acts in this chat.")))

    def _reply(self, question: Question, reply: str) -> None:
        """Hand the answer to the round that asks; the focus goes back to the message."""
        self._window.composer.setFocus()
        round_ = self._open_chats.current.round
        if round_ is not None:
            round_.reply(question, reply)  # type: ignore[arg-type]

    def _show(self) -> None:
        conversation = self._open_chats.current
        used = self._desk.used_by(conversation)
        names = dict.fromkeys(info.source_title or tr(info.title) for info in used)
        self._window.composer.tools_button.show_used(tuple(names))
        self._window.tool_question.ask(conversation.round.asked if conversation.round else None)
