"""Where and how the window was, kept for the next start: geometry, sidebar, chat and place in it, first page read."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings

from app.events import Event

log = logging.getLogger(__name__)


class WindowState:
    """Reads window.ini once; `keep…` is for the next start as soon as it was written by what `writing` gives back.

    Without a path nothing is kept. A value that makes no sense counts as missing. `changed`: there is something
    to write."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.changed: Event[()] = Event()
        file = QSettings(str(path), QSettings.Format.IniFormat) if path else None
        self._values: dict[str, object] = {key: file.value(key) for key in file.allKeys()} if file else {}
        self._unwritten: dict[str, object] = {}

    @property
    def geometry(self) -> QByteArray | None:
        value = self._values.get("geometry")
        return value if isinstance(value, QByteArray) else None

    @property
    def sidebar(self) -> bool:
        return self._values.get("sidebar") != "false"

    @property
    def introduced(self) -> bool:
        """Has the first page been read?"""
        return self._values.get("introduced") == "true"

    @property
    def chat(self) -> str:
        """The id of the chat that was open, "" for a new one."""
        value = self._values.get("chat")
        return value if isinstance(value, str) else ""

    @property
    def place(self) -> str:
        """The id of the message that was on top of the view, "" at the end of the chat."""
        value = self._values.get("place")
        return value if isinstance(value, str) else ""

    def keep(self, geometry: QByteArray, sidebar: bool) -> None:
        self._set(geometry=geometry, sidebar="true" if sidebar else "false")

    def keep_chat(self, chat: str, place: str) -> None:
        self._set(chat=chat, place=place)

    def keep_introduced(self) -> None:
        self._set(introduced="true")

    def writing(self) -> Callable[[], None] | None:
        """What puts the changes into the file, in any thread, for it waits for the disk; None: there are none."""
        path, values, self._unwritten = self._path, self._unwritten, {}
        return (lambda: _write(path, values)) if path and values else None

    def _set(self, **values: object) -> None:
        changed = {name: value for name, value in values.items() if self._values.get(name) != value}
        if changed:
            self._values |= changed
            self._unwritten |= changed
            self.changed.emit()


def _write(path: Path, values: dict[str, object]) -> None:
    file = QSettings(str(path), QSettings.Format.IniFormat)  # replaces the file as a whole, and locks it meanwhile
    for name, value in values.items():
        file.setValue(name, value)
    file.sync()
    if file.status() != QSettings.Status.NoError:
        log.warning("%s could not be written: %s", path, file.status())
