"""Palette, help sheet and about box: opens them over the window, at most one of each."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject

from app.commands.help import About, HelpSheet
from app.commands.palette import Palette, PaletteEntry, command_entries, matching_entries
from app.control.chat_controller import ChatController
from app.sidebar.search_view import SearchRunner
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.store.message_search import Hit, Search
from app.window import Window

RECENT = 5  # chats that the empty palette offers
MAX_RESULTS = 30
MIN_LETTERS = 2  # letters of a search in texts; a single letter is in every text


class PaletteController(QObject):
    def __init__(
        self, window: Window, open_chats: OpenChats, engine: EngineQueue, chat: ChatController, store: Path
    ) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._engine, self._chat = window, open_chats, engine, chat
        self._search_runner = SearchRunner(Search(store), self)
        self._search_runner.found.connect(self._hits_found)
        self._searched = ""  # the query whose hits are awaited
        self.palette = Palette(window.ground, self._search)
        self.palette.chosen.connect(self._run_entry)
        self.help: HelpSheet | None = None
        self.about: About | None = None
        window.commands.bind("palette", self.palette.open)
        window.commands.bind("help", self.open_help)
        window.commands.bind("about", self.open_about)
        window.commands.bind("stop", self.escape)

    def close(self) -> None:
        self._search_runner.close()

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
        """Close the palette if it is open; else close or stop what `ChatController.escape` finds."""
        if not self.palette.isHidden():
            self.palette.dismiss()
        else:
            self._chat.escape()

    def _show(self, sheet: HelpSheet | About) -> None:
        sheet.show()
        sheet.raise_()
        sheet.activateWindow()

    def _search(self, query: str) -> list[PaletteEntry]:
        chats = [PaletteEntry("chat", chat.id, chat.title) for chat in self._open_chats.chats()]
        commands = command_entries(self._window.commands.actions)
        if not query.strip():
            return chats[:RECENT] + commands
        if len(query.strip()) >= MIN_LETTERS:
            self._searched = query
            self._search_runner.search(query)  # `_hits_found` appends the hits later
        return (matching_entries(query, commands) + matching_entries(query, chats))[:MAX_RESULTS]

    def _hits_found(self, hits: list[Hit]) -> None:
        """Append the hits, unless the user has typed something else or closed the palette in the meantime."""
        if not self.palette.isHidden() and self.palette.line.text() == self._searched:
            self.palette.append_entries([entry_of(hit) for hit in hits if hit.message_id][:MAX_RESULTS])

    def _run_entry(self, entry: PaletteEntry) -> None:
        if entry.kind == "chat":
            self._chat.open_at(entry.id, entry.message_id)
        else:
            self._window.commands.run(entry.id)


def entry_of(hit: Hit) -> PaletteEntry:
    return PaletteEntry("chat", hit.chat_id, hit.title, hit.snippet, hit.message_id or "")
