"""The MCP servers: their page in the settings, their dialog, and their sources, which the chats use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import msgspec
from PySide6.QtCore import QObject

from app.control.settings_controller import SettingsController
from app.dialogs.settings_dialog import SettingsDialog
from app.dialogs.tool_server_dialog import Entered, ToolServerDialog
from app.dialogs.tools_page import ServerRow, ToolsPage
from app.look.sheet import OneDialog
from app.services.key_storage import KeyPlace
from app.services.timers import Debounce
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.state.tool_desk import ToolDesk
from app.tools.mcp.configuration import FILE, KnownTool, ToolServer
from app.tools.mcp.found import Found, found_servers
from app.tools.mcp.servers import ToolServers
from app.tools.mcp.source import McpSource
from app.tools.mcp.sources import McpSources
from app.window import Window
from app.words import UiText, tr, tr_n, worded
from common.failures import Failure
from common.sentences import Sentence
from engine.protocol.events import Counted
from models.network import offline_reason

SECTION = "tools"
REPAINT_MS = 100  # a server that talks much would lay out the page anew for each line


class ToolServersController(QObject):
    """Controller of the MCP servers; `sources` are what the chats may use, by the desk."""

    def __init__(
        self, window: Window, settings: SettingsController, engine: EngineQueue, open_chats: OpenChats, desk: ToolDesk
    ) -> None:
        super().__init__(settings)
        self._controller, self._settings = settings, settings.settings
        self._engine, self._open_chats = engine, open_chats
        self.servers = ToolServers(self._settings.path.with_name(FILE))
        self.sources = McpSources(self.servers, self._forbidden, self)
        self.page: ToolsPage | None = None
        self._dialog: OneDialog[ToolServerDialog] = OneDialog()
        self._found: dict[str, Found] = {}
        self._removed: tuple[ToolServer, int] | None = None
        self._tokens: dict[tuple[KnownTool, ...], int] = {}  # counted with the model in `_counted_for`
        self._counted_for: object = None
        self._paint = Debounce(self._show, REPAINT_MS, self)
        settings.opened.connect(self._add_page)
        window.commands.bind("tool_servers", self.open)
        self.servers.changed.connect(lambda _id: self._paint.request_in(0))
        self._desk = desk
        self.sources.added.connect(self._follow)
        for source in self.sources.all():
            self._follow(source)

    @property
    def dialog(self) -> ToolServerDialog | None:
        """The dialog of a server while it is open, else None."""
        return self._dialog.open

    def open(self) -> None:
        """Open the settings dialog at the tools."""
        self._controller.open().show_section(SECTION)

    def close(self) -> None:
        """End all servers, because the window closes."""
        self._forget_removed()
        self.sources.close()

    def _forbidden(self) -> Sentence | None:
        return offline_reason(self._settings.path)

    def _follow(self, source: McpSource) -> None:
        self._desk.add(source)
        source.life_changed.connect(self._paint.request)

    # --- the page -----------------------------------------------------------------------------------------------------

    def _add_page(self, dialog: SettingsDialog) -> None:
        self.page = page = ToolsPage(dialog)
        page.action_requested.connect(self._do_action)
        page.add_requested.connect(partial(self._open_dialog, None))
        page.found_requested.connect(self._add_found)
        page.undo_requested.connect(self._undo)
        dialog.add_to_section(SECTION, page)
        dialog.finished.connect(self._page_closed)
        self._show()
        self._look_for_others()
        if self.servers.problem is not None:
            self._say(self.servers.problem)

    def _page_closed(self) -> None:
        self.page = None
        self._dialog.close()
        self._forget_removed()

    def _show(self) -> None:
        if self.page is not None:
            self.page.show_rows([self._row(server) for server in self.servers.all()])

    def _row(self, server: ToolServer) -> ServerRow:
        source = self.sources.source_of(server)
        model = self._engine.state.model
        if model is not self._counted_for:
            self._counted_for, self._tokens = model, {}
        used = tuple(known for known in server.tools if known.on)
        if used and used not in self._tokens and model is not None:
            self._count(used)
        tokens = self._tokens.get(used) or None
        return ServerRow(
            server, source.life.state, source.life.problem, tuple(source.log), tokens, model.n_ctx if model else 0
        )

    def _count(self, used: tuple[KnownTool, ...]) -> None:
        """Have the engine count what the descriptions cost."""
        self._tokens[used] = 0
        model = self._counted_for

        def counted(event: Counted | None) -> None:
            if event is not None and model is self._counted_for:
                self._tokens[used] = sum(event.texts)
                self._paint.request_in(0)

        texts = tuple("\n".join((each.tool.name, each.tool.description, each.tool.parameters)) for each in used)
        self._engine.idle.count(texts, self._open_chats.current, counted)

    def _look_for_others(self) -> None:
        """Offer the servers that other programs know."""
        self._found = {found.program: found for found in found_servers(self.servers.all())}
        if self.page is not None:
            self.page.show_found({program: len(found.servers) for program, found in self._found.items()})

    def _say(self, failure: Failure) -> None:
        sentence = failure.sentence
        self._note(lambda: worded(sentence))

    def _note(self, words: UiText, undo: bool = False) -> None:
        if self.page is not None:
            self.page.show_note(words, undo)

    # --- what is asked there ------------------------------------------------------------------------------------------

    def _do_action(self, id: str, action: str, tool: str) -> None:
        server = self.servers.find(id)
        if server is None:
            return
        try:
            self._change(server, action, tool)
        except Failure as failure:
            self._say(failure)
            self._show()

    def _change(self, server: ToolServer, action: str, tool: str) -> None:
        """Do what a button or switch asks for. Raises Failure."""
        match action:
            case "test":
                self.sources.source_of(server).test(lambda _problem: self._paint.request_in(0))
            case "anyway":
                self.servers.change(msgspec.structs.replace(server, unconfined=True))
                self._change(server, "test", "")
            case "edit":
                self._open_dialog(server)
            case "remove":
                self._remove(server)
            case "on" | "off":
                self.servers.change(msgspec.structs.replace(server, on=action == "on"))
            case "tool_on" | "tool_off":
                self.servers.switch_tool(server.id, tool, on=action == "tool_on")
            case "reads" | "asks":
                self.servers.switch_tool(server.id, tool, reads=action == "reads")

    def _open_dialog(self, server: ToolServer | None) -> None:
        page = self.page
        if page is not None:
            self._dialog.close()
            self._dialog.show(lambda: ToolServerDialog(server, page.window())).saved.connect(self._save)

    def _save(self, entered: list[Entered]) -> None:
        """Store what the dialog has, one server after the other; close it once all are stored."""
        first, *rest = entered

        def done() -> None:
            if rest:
                self._save(rest)
            else:
                self._dialog.close()
                self._look_for_others()

        def failed(failure: Failure) -> None:
            if self.dialog is not None:
                self.dialog.show_problem(failure.sentence)

        self._store(first.server, first.secrets, done, failed)

    def _store(
        self,
        server: ToolServer,
        secrets: Mapping[str, str | None],
        done: Callable[[], object],
        failed: Callable[[Failure], object],
    ) -> None:
        """Store a server with its secrets; those of None are the ones that are stored already."""
        before = self.servers.find(server.id)

        def stored(place: KeyPlace) -> None:
            whole = msgspec.structs.replace(server, place=place)
            try:
                self.servers.change(whole) if before else self.servers.add(whole)
            except Failure as failure:
                failed(failure)
            else:
                done()

        def store(kept: Mapping[str, str]) -> None:
            merged = {name: kept.get(name, "") if value is None else value for name, value in secrets.items()}
            self.sources.secrets.store(server.id, merged, stored, failed)

        if not secrets and not (before and before.place):
            stored("")
        elif before is None:
            store({})
        else:
            self.sources.secrets.find(before, store, failed)

    def _add_found(self, program: str) -> None:
        found = self._found.get(program)
        if found is None:
            return
        count = len(found.servers)

        def add(servers: list[tuple[ToolServer, dict[str, str]]]) -> None:
            if servers:
                (server, secrets), *rest = servers
                self._store(server, dict(secrets), lambda: add(rest), self._say)
            else:
                self._look_for_others()
                self._note(lambda: tr_n("{n} server was added.", "{n} servers were added.", count))

        add(list(found.servers))

    def _remove(self, server: ToolServer) -> None:
        """Remove a server; its secrets are deleted once the removal cannot be undone any more."""
        self._forget_removed()
        removed, place = self.servers.remove(server.id)
        self._removed = removed, place
        name = removed.name
        self._note(lambda: tr("“{name}” was removed.", name=name), undo=True)
        self._look_for_others()

    def _undo(self) -> None:
        if self._removed is None:
            return
        server, place = self._removed
        try:
            self.servers.add(server, place)
        except Failure as failure:
            self._say(failure)
        else:
            self._removed = None
            self._note("")
            self._look_for_others()

    def _forget_removed(self) -> None:
        """Delete the secrets of the server that was removed last."""
        if self._removed is not None:
            server, _place = self._removed
            self._removed = None
            if server.place:
                self.sources.secrets.store(server.id, {}, lambda _place: None, lambda _failure: None)
