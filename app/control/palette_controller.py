"""Palette, help sheet and about box: opens them over the window, at most one of each."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject

from app.commands.help import About, HelpSheet
from app.commands.palette import Palette, PaletteEntry, command_entries, matching_entries, related_entries
from app.commands.related_words import related_words
from app.control.chat_controller import ChatController
from app.control.settings_controller import SettingsController
from app.dialogs.guide import Guide
from app.look.sheet import OneDialog
from app.settings.schema import GROUPS, for_all, group_of, offered
from app.sidebar.search_view import SearchRunner
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.store.message_search import Hit, Search
from app.window import Window
from app.words import tr

RECENT = 5  # chats that the empty palette offers
MAX_RESULTS = 30
SET_AT_ONCE = ("window.theme", "window.language")
MIN_LETTERS = 2  # letters of a search in texts; a single letter is in every text


class PaletteController(QObject):
    def __init__(
        self,
        window: Window,
        open_chats: OpenChats,
        engine: EngineQueue,
        chat: ChatController,
        settings: SettingsController,
        store: Path,
    ) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._engine, self._chat = window, open_chats, engine, chat
        self._settings = settings
        self._search_runner = SearchRunner(Search(store), self)
        self._search_runner.found.connect(self._hits_found)
        self._searched = ""  # the query whose hits are awaited
        self.palette = Palette(window.ground, self._search)
        self.palette.chosen.connect(self._run_entry)
        self.help: OneDialog[HelpSheet] = OneDialog()
        self.about: OneDialog[About] = OneDialog()
        self.guide: OneDialog[Guide] = OneDialog()
        window.commands.bind("palette", self.palette.open)
        window.commands.bind("help", lambda: self.help.show(lambda: HelpSheet(window)))
        window.commands.bind("guide", lambda: self.guide.show(lambda: Guide(window)))
        window.commands.bind("about", self.open_about)
        window.commands.bind("stop", self.escape)

    def close(self) -> None:
        self._search_runner.close()

    def open_about(self) -> None:
        self.about.show(lambda: About(self._window, self._engine.state.model, self._engine.state.limits))

    def escape(self) -> None:
        """Close the palette if it is open; else close or stop what `ChatController.escape` finds."""
        if not self.palette.isHidden():
            self.palette.dismiss()
        else:
            self._chat.escape()

    def _search(self, query: str) -> list[PaletteEntry]:
        chats = [PaletteEntry("chat", chat.id, chat.title) for chat in self._open_chats.chats()]
        commands = command_entries(self._window.commands)
        if not query.strip():
            return chats[:RECENT] + commands
        if len(query.strip()) >= MIN_LETTERS:
            self._searched = query
            self._search_runner.search(query)  # `_hits_found` appends the hits later
        settings = setting_entries()
        found = [entry for kind in (commands, settings, chats) for entry in matching_entries(query, kind)]
        found += [entry for kind in (commands, settings) for entry in related_entries(query, kind)]
        return found[:MAX_RESULTS]

    def _hits_found(self, hits: list[Hit]) -> None:
        """Append the hits, unless the user has typed something else or closed the palette in the meantime."""
        if not self.palette.isHidden() and self.palette.line.text() == self._searched:
            self.palette.append_entries([entry_of(hit) for hit in hits if hit.message_id][:MAX_RESULTS])

    def _run_entry(self, entry: PaletteEntry) -> None:
        if entry.kind == "chat":
            self._chat.open_at(entry.id, entry.message_id)
        elif entry.kind == "setting":
            self._settings.use(entry.id, entry.value)
        else:
            self._window.commands.run(entry.id)


def setting_entries() -> list[PaletteEntry]:
    """Return an entry that shows each setting of the dialog, and one that sets each theme and language."""
    entries = []
    for setting in offered(for_all()):
        title, section = tr(setting.title), tr(GROUPS[group_of(setting)])
        related = f"{section} {tr(setting.help)} {setting.help} {related_words(setting.name)}"
        entries.append(PaletteEntry("setting", setting.name, title, section, english=setting.title, related=related))
        for value, words in setting.choices if setting.name in SET_AT_ONCE else ():
            one = tr("{setting}: {value}", setting=title, value=tr(words))
            english = f"{setting.title}: {words}"
            entries.append(PaletteEntry("setting", setting.name, one, section, "", value, english, related))
    return entries


def entry_of(hit: Hit) -> PaletteEntry:
    return PaletteEntry("chat", hit.chat_id, hit.title, hit.snippet, hit.message_id or "")
