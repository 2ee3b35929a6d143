"""Where and how the window was, kept for the next start: geometry, sidebar, chat and place in it, first page read."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings


class WindowState:
    """Reads and writes window.ini; without a path nothing is kept. A value that makes no sense counts as missing."""

    def __init__(self, path: Path | None = None) -> None:
        self._file = QSettings(str(path), QSettings.Format.IniFormat) if path else None

    @property
    def geometry(self) -> QByteArray | None:
        value = self._get("geometry")
        return value if isinstance(value, QByteArray) else None

    @property
    def sidebar(self) -> bool:
        return self._get("sidebar") != "false"

    @property
    def introduced(self) -> bool:
        """Has the first page been read?"""
        return self._get("introduced") == "true"

    @property
    def chat(self) -> str:
        """The id of the chat that was open, "" for a new one."""
        value = self._get("chat")
        return value if isinstance(value, str) else ""

    @property
    def place(self) -> str:
        """The id of the message that was on top of the view, "" at the end of the chat."""
        value = self._get("place")
        return value if isinstance(value, str) else ""

    def keep(self, geometry: QByteArray, sidebar: bool) -> None:
        self._set("geometry", geometry)
        self._set("sidebar", "true" if sidebar else "false")

    def keep_chat(self, chat: str, place: str) -> None:
        self._set("chat", chat)
        self._set("place", place)

    def keep_introduced(self) -> None:
        self._set("introduced", "true")

    def _get(self, name: str) -> object:
        return self._file.value(name) if self._file else None

    def _set(self, name: str, value: object) -> None:
        if self._file:
            self._file.setValue(name, value)
            self._file.sync()
