"""What the process of a server gets when it starts: its command, its environment, and the server's rights."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from app.tools.mcp import SERVE_TOOLS
from app.tools.mcp.configuration import KEY, ToolServer
from app.tools.mcp.messages import Start
from app.tools.mcp.program_folders import program_folders

# What a server gets of our environment, and what our process for it needs beside that. The server can see both.
FOR_SERVER = ("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT", "PATHEXT", "COMSPEC")
FOR_CHILD = (*FOR_SERVER, "HOME", "USERPROFILE", "TEMP", "TMP", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR")
QUIET = {"OTEL_PROPAGATORS": "none"}  # OpenTelemetry, which `mcp` imports, looks for what a packaged app lacks


def child_command() -> list[str]:
    if getattr(sys, "frozen", False):
        return [sys.executable, SERVE_TOOLS]
    return [sys.executable, "-m", "app.tools.mcp.child"]


def child_environment() -> dict[str, str]:
    return {**kept_variables(FOR_CHILD), **QUIET}


def start_of(server: ToolServer, home: Path, secrets: Mapping[str, str]) -> Start:
    """Return what the child is told: least rights, and of our environment only what every program needs."""
    kept = kept_variables(FOR_SERVER)
    temporary = str(home / "tmp")
    own = {"HOME": str(home), "USERPROFILE": str(home), "TMPDIR": temporary, "TEMP": temporary, "TMP": temporary}
    variables = {name: value for name, value in secrets.items() if name != KEY}
    program = program_folders(server.command, kept.get("PATH", "")) if server.command else ()
    return Start(
        str(home),
        server.command,
        {**kept, **own, **variables},
        server.url,
        secrets.get(KEY, ""),
        (*map(str, program), *server.read),
        server.write,
        server.connects,
        server.unconfined,
    )


def kept_variables(names: tuple[str, ...]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}
