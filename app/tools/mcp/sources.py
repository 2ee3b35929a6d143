"""All MCP servers as sources of tools: one source for each, made and ended as the user's list changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject

from app.events import Event
from app.services.background import Background
from app.services.key_storage import FILE as KEYS
from app.services.key_storage import KeyPlace, read_key, write_key
from app.tools.mcp.configuration import ToolServer
from app.tools.mcp.servers import ToolServers
from app.tools.mcp.source import McpSource
from common.failures import Failure
from common.sentences import Sentence


class ToolSecrets(QObject):
    """The secrets of servers, in the keyring or the file of keys, as JSON under the server's id; read in threads."""

    def __init__(self, keys: Path, parent: QObject) -> None:
        super().__init__(parent)
        self._path = keys
        self._background = Background(self)

    def find(
        self, server: ToolServer, use: Callable[[Mapping[str, str]], object], failed: Callable[[Failure], object]
    ) -> None:
        """Call `use` with the server's secrets, or `failed` if they are not where they should be."""
        if not server.place:
            use({})
            return

        def decode(text: str) -> None:
            try:
                use(msgspec.json.decode(text, type=dict[str, str]))
            except msgspec.MsgspecError:
                failed(Failure("keyring.no_key"))

        self._background.run(lambda: read_key(_name(server.id), server.place, self._path), decode, failed)

    def store(
        self,
        id: str,
        secrets: Mapping[str, str],
        stored: Callable[[KeyPlace], object],
        failed: Callable[[Failure], object],
    ) -> None:
        """Store the secrets, or delete them if there are none; call `stored` with where they are."""
        text = json.dumps(dict(secrets)) if secrets else ""
        self._background.run(lambda: write_key(_name(id), text, self._path), stored, failed)


def _name(id: str) -> str:
    return f"tool-server:{id}"


class McpSources(QObject):
    """The sources, in the user's order. `added` carries one of a server that is new.

    One whose server was removed has no tools; it is used again if that is undone.
    """

    def __init__(self, servers: ToolServers, forbidden: Callable[[], Sentence | None], parent: QObject) -> None:
        super().__init__(parent)
        self.added: Event[McpSource] = Event()
        self.servers = servers
        self.secrets = ToolSecrets(servers.path.with_name(KEYS), self)
        self._forbidden = forbidden
        self._sources: dict[str, McpSource] = {}
        self._seen: dict[str, ToolServer] = {}
        servers.changed.connect(self._follow)

    def all(self) -> tuple[McpSource, ...]:
        return tuple(self.source_of(server) for server in self.servers.all())

    def source_of(self, server: ToolServer) -> McpSource:
        if server.id not in self._sources:
            self._seen[server.id] = server
            source = McpSource(server, self.servers, self.secrets.find, self._forbidden, self)
            self._sources[server.id] = source
            self.added.emit(source)
        return self._sources[server.id]

    def close(self) -> None:
        for source in self._sources.values():
            source.close()

    def _follow(self, id: str) -> None:
        """Follow a change of one server: end what runs otherwise now."""
        server, before = self.servers.find(id), self._seen.get(id)
        source = self._sources.get(id)
        goes_on = server is not None and server.on and before is not None and server.runs_as == before.runs_as
        if source is not None and not goes_on:
            source.stop()
        if server is not None:
            source = self.source_of(server)
            self._seen[id] = server
        if source is not None:
            source.changed.emit()
