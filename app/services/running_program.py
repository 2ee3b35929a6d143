"""Asks a running Chickadee to show its quick window, without loading Qt: that takes a tenth of a second less.

The socket is that of `app.services.single_instance`, whose server answers "ok".
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import sys
import tempfile
from pathlib import Path

MOST_TEXT = 20_000  # characters of a question; with escapes, a request stays below the server's longest line
SECONDS = 20.0  # the program may be busy; a start beside it would wait for as long
TOKENS = ("XDG_ACTIVATION_TOKEN", "DESKTOP_STARTUP_ID")  # what a desktop gives to a program that it starts
MOST_TOKEN = 500  # characters


def server_name(folder: Path) -> str:
    """Return the name of the local server of the program that uses this data folder."""
    return f"chickadee-{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:24]}"


def start_request(model: str, question: str | None) -> bytes:
    """Return the line that a second start sends: which model to load, or what to ask in the quick window."""
    request: dict[str, object] = {"model": model}
    if question is not None:
        token = next((value for name in TOKENS if (value := os.environ.get(name, ""))), "")
        request |= {"ask": question[:MOST_TEXT], "token": token[:MOST_TOKEN]}
    return json.dumps(request).encode() + b"\n"


def ask_running(folder: Path, question: str) -> bool:
    """Send the question to the program that uses this data folder; return False if there is none that answers."""
    name, line = server_name(folder), start_request("", question)
    try:
        if sys.platform == "win32":
            with Path(rf"\\.\pipe\{name}").open("r+b", buffering=0) as pipe:
                pipe.write(line)
                return pipe.read(2) == b"ok"
        return _ask_socket(Path(tempfile.gettempdir()) / name, line)
    except OSError:
        return False


def _ask_socket(path: Path, line: bytes) -> bool:
    if sys.platform != "win32" and path.stat().st_uid != os.getuid():  # anyone may make files in that folder
        return False
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SECONDS)
        connection.connect(str(path))
        connection.sendall(line)
        return connection.recv(2) == b"ok"
