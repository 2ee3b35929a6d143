"""What comes up over the window on demand: the palette, the help sheet, the about box. At most one of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.chats.chat import Chat
from app.commands.about import About
from app.commands.help_sheet import HelpSheet
from app.commands.palette import Entry, Palette, command_entries, matching
from app.library.search import Hit, Search
from app.sidebar.search import SearchRunner
from app.window import Window
from engine.protocol import Limit, ModelInfo

RECENT = 5  # chats that the empty palette offers
MOST = 30
SHORTEST = 2  # letters; one alone is in every text


class Sheets(QObject):
    """`open_chat` carries the id of a chat and of a message in it, or "".

    `chats` gives all of them, latest first; `find` searches all messages, so many at most, and may raise Failure."""

    open_chat = Signal(str, str)

    def __init__(self, window: Window, chats: Callable[[], Iterable[Chat]], library: Path) -> None:
        super().__init__(window)
        self._window, self._chats = window, chats
        self._finding = SearchRunner(Search(library), self)
        self._finding.found.connect(self._found)
        self.palette = Palette(window.ground, self._search)
        self.palette.chosen.connect(self._chosen)
        self.help: HelpSheet | None = None
        self.about: About | None = None
        self.model: ModelInfo | None = None  # the loaded one, for the about box
        self.limits: tuple[Limit, ...] | None = None  # the engine's, likewise
        window.commands.bind("palette", self.palette.open)
        window.commands.bind("help", self.open_help)
        window.commands.bind("about", self.open_about)

    def close(self) -> None:
        self._finding.close()

    def open_help(self) -> None:
        if self.help is None:
            self.help = HelpSheet(self._window)
            self.help.finished.connect(lambda: setattr(self, "help", None))
        self._show(self.help)

    def open_about(self) -> None:
        if self.about is None:
            self.about = About(self._window, self.model, self.limits)
            self.about.finished.connect(lambda: setattr(self, "about", None))
        self._show(self.about)

    def dismiss(self) -> bool:
        """Esc: close the palette; was it open?"""
        was_open = not self.palette.isHidden()
        self.palette.dismiss()
        return was_open

    def _show(self, sheet: HelpSheet | About) -> None:
        sheet.show()
        sheet.raise_()
        sheet.activateWindow()

    def _search(self, query: str) -> list[Entry]:
        chats = [Entry("chat", chat.id, chat.title) for chat in self._chats()]
        commands = command_entries(self._window.commands.actions)
        if not query.strip():
            return chats[:RECENT] + commands
        if len(query.strip()) >= SHORTEST:
            self._finding.look(query)  # texts come when they are found
        return (matching(query, commands) + matching(query, chats))[:MOST]

    def _found(self, hits: list[Hit]) -> None:
        if not self.palette.isHidden():
            self.palette.add([entry_of(hit) for hit in hits if hit.message_id][:MOST])

    def _chosen(self, entry: Entry) -> None:
        if entry.kind == "chat":
            self.open_chat.emit(entry.id, entry.message_id)
        else:
            self._window.commands.run(entry.id)


def entry_of(hit: Hit) -> Entry:
    return Entry("chat", hit.chat_id, hit.title, hit.snippet, hit.message_id or "")
