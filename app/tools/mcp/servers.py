"""The owner of the user's MCP servers: their file, their changes, and the undo of a removal. Knows no Qt."""

from __future__ import annotations

from pathlib import Path

import msgspec

from app.events import Event
from app.tools.mcp.configuration import HOMES, MOST_SERVERS, ToolServer, read_servers, write_servers
from app.tools.mcp.messages import Tools
from common.failures import Failure
from common.files import set_aside


class ToolServers:
    """The user's servers, in the file `path`, which is read at the first use and written with every change.

    `changed` is emitted after every change with the server's id. Methods raise Failure if the file cannot be written;
    then nothing has changed. `problem` says why the file could not be read; a damaged one is renamed with the next
    change, not lost.
    """

    def __init__(self, path: Path) -> None:
        self.changed: Event[str] = Event()
        self.problem: Failure | None = None
        self.path = path
        self._read: tuple[ToolServer, ...] | None = None

    def all(self) -> tuple[ToolServer, ...]:
        if self._read is None:
            try:
                self._read = read_servers(self.path)
            except Failure as failure:
                self._read, self.problem = (), failure
        return self._read

    def find(self, id: str) -> ToolServer | None:
        return next((server for server in self.all() if server.id == id), None)

    def home_of(self, server: ToolServer) -> Path:
        """Return the folder that is the server's home; nothing else of ours is in it."""
        return self.path.with_name(HOMES) / server.id

    def add(self, server: ToolServer, place: int | None = None) -> None:
        """Add a server, at its old place if a removal is undone."""
        servers = list(self.all())
        if len(servers) >= MOST_SERVERS:
            raise Failure("tool_server.too_many", most=MOST_SERVERS)
        servers.insert(len(servers) if place is None else place, server)
        self._store(tuple(servers), server.id)

    def change(self, server: ToolServer) -> None:
        """Store what has changed of the server with this id; one that was removed meanwhile stays removed."""
        before = self.find(server.id)
        if before is not None and before != server:
            servers = (server if each.id == server.id else each for each in self.all())
            self._store(tuple(servers), server.id)

    def remove(self, id: str) -> tuple[ToolServer, int]:
        """Remove a server; return it with its place, for `add`. Raises KeyError if there is none."""
        servers = self.all()
        place = next((place for place, each in enumerate(servers) if each.id == id), None)
        if place is None:
            raise KeyError(id)
        self._store((*servers[:place], *servers[place + 1 :]), id)
        return servers[place], place

    def switch_tool(self, id: str, name: str, *, on: bool | None = None, reads: bool | None = None) -> None:
        """Store whether the chats get the tool, or whether the user says that it only reads."""
        server = self.find(id)
        if server is None:
            return
        wishes = {key: value for key, value in (("on", on), ("reads", reads)) if value is not None}
        tools = tuple(
            msgspec.structs.replace(known, **wishes) if known.tool.name == name else known for known in server.tools
        )
        self.change(msgspec.structs.replace(server, tools=tools))

    def describe(self, id: str, lists: Tools) -> None:
        """Store the tools, resources and prompts that the server has now."""
        server = self.find(id)
        if server is not None:
            self.change(server.with_lists(lists))

    def _store(self, servers: tuple[ToolServer, ...], id: str) -> None:
        if self.problem is not None:
            if self.problem.sentence.id == "tool_server.unreadable":  # it may be whole, so it must not be replaced
                raise self.problem
            try:
                set_aside(self.path)
            except OSError as error:
                reason = error.strerror or str(error)
                raise Failure("tool_server.unwritable", str(error), file=self.path.name, reason=reason) from error
        write_servers(self.path, servers)
        self._read, self.problem = servers, None
        self.changed.emit(id)
