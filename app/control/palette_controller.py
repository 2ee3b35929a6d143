"""What comes up over the window on demand: the palette, the help sheet, the about box. At most one of each."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject

from app.commands.help import About, HelpSheet
from app.commands.palette import Entry, Palette, command_entries, matching
from app.control.chat_controller import ChatController
from app.sidebar.search import SearchRunner
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.store.search import Hit, Search
from app.window import Window

RECENT = 5  # chats that the empty palette offers
MOST = 30
SHORTEST = 2  # letters; one alone is in every text


class PaletteController(QObject):
    def __init__(
        self, window: Window, open_chats: OpenChats, engine: EngineQueue, chat: ChatController, store: Path
    ) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._engine, self._chat = window, open_chats, engine, chat
        self._finding = SearchRunner(Search(store), self)
        self._finding.found.connect(self._found)
        self.palette = Palette(window.ground, self._search)
        self.palette.chosen.connect(self._chosen)
        self.help: HelpSheet | None = None
        self.about: About | None = None
        window.commands.bind("palette", self.palette.open)
        window.commands.bind("help", self.open_help)
        window.commands.bind("about", self.open_about)
        window.commands.bind("stop", self.escape)

    def close(self) -> None:
        self._finding.close()

    def open_help(self) -> None:
        if self.help is None:
            self.help = HelpSheet(self._window)
            self.help.finished.connect(lambda: setattr(self, "help", None))
        self._show(self.help)

    def open_about(self) -> None:
        if self.about is None:
            self.about = About(self._window, self._engine.state.model, self._engine.state.limits)
            self.about.finished.connect(lambda: setattr(self, "about", None))
        self._show(self.about)

    def escape(self) -> None:
        """Close the palette, or what else there is to close or to stop."""
        if not self.palette.isHidden():
            self.palette.dismiss()
        else:
            self._chat.escape()

    def _show(self, sheet: HelpSheet | About) -> None:
        sheet.show()
        sheet.raise_()
        sheet.activateWindow()

    def _search(self, query: str) -> list[Entry]:
        chats = [Entry("chat", chat.id, chat.title) for chat in self._open_chats.chats()]
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
            self._chat.open_at(entry.id, entry.message_id)
        else:
            self._window.commands.run(entry.id)


def entry_of(hit: Hit) -> Entry:
    return Entry("chat", hit.chat_id, hit.title, hit.snippet, hit.message_id or "")
