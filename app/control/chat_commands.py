"""Commands on the open chat and on the way to the next one, bound to the window's command set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from app.markdown.blocks import last_code
from app.open_chats.shelf import Shelf
from app.window import Window
from app.words import mark, tr

TOLD_MS = 4000


@dataclass(frozen=True, slots=True)
class Deeds:
    """What whoever knows all parts does: `open_chat` and `delete_chat` take a chat's id."""

    new_chat: Callable[[], object]
    open_chat: Callable[[str], object]
    delete_chat: Callable[[str], object]
    rename: Callable[[], object]
    again: Callable[[], object]
    stop: Callable[[], object]
    dismiss: Callable[[], bool]  # close what lies over the page; was there anything?


class ChatCommands(QObject):
    def __init__(self, window: Window, shelf: Shelf, deeds: Deeds) -> None:
        super().__init__(window)
        self._window, self._shelf, self._deeds = window, shelf, deeds
        bind = window.commands.bind
        bind("new_chat", deeds.new_chat)
        bind("again", deeds.again)
        bind("rename_chat", deeds.rename)
        bind("delete_chat", lambda: deeds.delete_chat(shelf.current.chat.id))
        bind("next_chat", lambda: self.step(1))
        bind("previous_chat", lambda: self.step(-1))
        bind("copy_answer", self.copy_answer)
        bind("copy_code", self.copy_code)
        bind("stop", self.escape)

    def escape(self) -> None:
        """Close what lies over the page; else stop the answer; else take the notice away and go back to writing."""
        if self._deeds.dismiss() or self._window.close_overlay():
            return
        if self._shelf.current.busy:
            self._deeds.stop()
            return
        self._window.notice.dismiss()
        self._window.composer.setFocus()

    def step(self, by: int) -> None:
        """Open the chat below (1) or above (-1) in the order of the list; from a new chat the first or last one."""
        ids = self._window.sidebar.ids() or [chat.id for chat in self._shelf.chats()]
        if not ids:
            return
        here = ids.index(self._shelf.current.chat.id) if self._shelf.current.chat.id in ids else min(-by, 0)
        self._deeds.open_chat(ids[(here + by) % len(ids)])

    def copy_answer(self) -> None:
        answers = self._answers()
        answer = answers[-1] if answers else None
        self._copy(answer, mark("There is no answer to copy yet."), mark("Answer copied."))

    def copy_code(self) -> None:
        codes = [code for code in map(last_code, self._answers()) if code is not None]
        code = codes[-1] if codes else None
        self._copy(code, mark("There is no code in this chat yet."), mark("Code copied."))

    def _answers(self) -> list[str]:
        messages = self._shelf.current.messages
        return [message.content for message in messages if message.role == "assistant" and message.content]

    def _copy(self, text: str | None, nothing: str, done: str) -> None:
        if text is not None:
            QGuiApplication.clipboard().setText(text)
        self._window.notice.tell(lambda: tr(nothing if text is None else done), milliseconds=TOLD_MS)
