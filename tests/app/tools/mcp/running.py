"""A source of tools over a real process, for tests."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.tools.mcp.configuration import FILE, ToolServer
from app.tools.mcp.messages import Called, Prompt, Resource
from app.tools.mcp.servers import ToolServers
from app.tools.mcp.sources import McpSources
from app.tools.tool import ToolResult
from common.sentences import Sentence
from tests.app.conftest import SECONDS

T = TypeVar("T")
HOSTILE = Path(__file__).with_name("hostile_server.py")


def hostile(*behaviours: str) -> list[str]:
    """Return the command of the server that misbehaves so."""
    return [sys.executable, str(HOSTILE), *behaviours]


class Running:
    """The sources with one server, and what is asked of it."""

    def __init__(self, qtbot: QtBot, folder: Path, command: Sequence[str], **values: Any) -> None:
        self.qtbot, self.parent = qtbot, QObject()
        self.servers = ToolServers(folder / FILE)
        # Where this system cannot confine anything, what is proven here is proven without.
        values = {"id": "one", "name": "Server", "unconfined": sys.platform != "linux", **values}
        self.servers.add(ToolServer(command=tuple(command), **values))
        self.forbidden: Sentence | None = None
        self.sources = McpSources(self.servers, lambda: self.forbidden, self.parent)
        (self.source,) = self.sources.all()

    @property
    def server(self) -> ToolServer:
        server = self.servers.find("one")
        assert server is not None
        return server

    def change(self, **values: Any) -> None:
        self.servers.change(msgspec.structs.replace(self.server, **values))

    def test(self) -> Sentence | None:
        """Return what the test of the server says."""
        return wait_for(self.qtbot, self.source.test)

    def read(self, resource: Resource) -> Called:
        called: Called = wait_for(self.qtbot, partial(self.source.read, resource))
        return called

    def fill(self, prompt: Prompt, values: dict[str, str]) -> Called:
        called: Called = wait_for(self.qtbot, partial(self.source.fill, prompt, values))
        return called

    def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        def ask(done: Callable[[ToolResult], None]) -> None:
            self.source.call(name, arguments or {}, "chat", done)

        return wait_for(self.qtbot, ask)


def wait_for(qtbot: QtBot, ask: Callable[[Callable[[T], None]], object]) -> T:
    """Return what `ask` is answered, later and once."""
    results: list[T] = []
    ask(results.append)
    assert not results, "it is answered later"
    qtbot.waitUntil(lambda: bool(results), timeout=SECONDS)
    (result,) = results
    return result
