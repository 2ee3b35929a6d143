"""The files in which other programs keep their MCP servers; they are read only to offer their servers here."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.tools.mcp.configuration import MOST_BYTES, ToolServer, servers_in
from common.failures import Failure
from common.files import read_small


@dataclass(frozen=True, slots=True)
class Found:
    """The servers of another program, each with its secrets."""

    program: str
    servers: tuple[tuple[ToolServer, dict[str, str]], ...]


def places(home: Path | None = None) -> Iterator[tuple[str, Path]]:
    """Yield programs' names with the files that they keep their servers in."""
    home = home or Path.home()
    yield "Claude Desktop", _settings(home) / "Claude" / "claude_desktop_config.json"
    yield "LM Studio", home / ".lmstudio" / "mcp.json"
    yield "LM Studio", home / ".cache" / "lm-studio" / "mcp.json"
    yield "Cursor", home / ".cursor" / "mcp.json"
    yield "Windsurf", home / ".codeium" / "windsurf" / "mcp_config.json"
    yield "VS Code", _settings(home) / "Code" / "User" / "mcp.json"


def _settings(home: Path) -> Path:
    """Return the folder of settings that programs made with Electron use."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", home / "AppData" / "Roaming"))
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    return home / ".config"


def found_servers(known: tuple[ToolServer, ...], home: Path | None = None) -> list[Found]:
    """Return other programs' servers that are not here yet; a file that cannot be used is left out."""
    here = {(server.command, server.url) for server in known}
    found = []
    for program, path in places(home):
        try:
            servers = servers_in(read_small(path, MOST_BYTES).decode("utf-8-sig"))
        except (OSError, Failure, ValueError):  # nothing that the user has asked for
            continue
        new = tuple(each for each in servers if (each[0].command, each[0].url) not in here)
        if new:
            found.append(Found(program, new))
    return found
