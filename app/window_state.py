"""What the window remembers for the next start, in window.ini."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings

from app.events import Event

log = logging.getLogger(__name__)


class WindowState:
    """State of the window for the next start: geometry, open chat, scroll position, folders of dialogs.

    window.ini is read once. Changed values are in memory until the function that `pending_write` returns has written
    them; the event `changed` says that there is something to write. Without a path nothing is stored. A value of the
    wrong type counts as missing.
    """

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
        """Whether the introduction of the first start is over."""
        return self._values.get("introduced") == "true"

    @property
    def chat(self) -> str:
        """Id of the chat that was open, "" for a new one."""
        value = self._values.get("chat")
        return value if isinstance(value, str) else ""

    @property
    def place(self) -> str:
        """Id of the message at the top of the view, "" at the end of the chat."""
        value = self._values.get("place")
        return value if isinstance(value, str) else ""

    def set_geometry(self, geometry: QByteArray, sidebar: bool) -> None:
        self._set(geometry=geometry, sidebar="true" if sidebar else "false")

    def set_chat(self, chat: str, place: str) -> None:
        self._set(chat=chat, place=place)

    def folder(self, purpose: str) -> str:
        """Return the folder in which a file was chosen last for this purpose, "" if there is none any more."""
        value = self._values.get(f"folder_{purpose}")
        return value if isinstance(value, str) and Path(value).is_dir() else ""

    def set_folder(self, purpose: str, folder: str) -> None:
        self._set(**{f"folder_{purpose}": folder})

    @property
    def offers_dismissed(self) -> bool:
        """Whether the user wants to see no more offers of better models on the welcome page."""
        return self._values.get("offers_dismissed") == "true"

    def dismiss_offers(self) -> None:
        self._set(offers_dismissed="true")

    def set_introduced(self) -> None:
        self._set(introduced="true")

    def pending_write(self) -> Callable[[], None] | None:
        """Return a function that writes the changes to the file, or None if there are none.

        The function may run in any thread, because it waits for the disk.
        """
        path, values, self._unwritten = self._path, self._unwritten, {}
        return (lambda: _write(path, values)) if path and values else None

    def _set(self, **values: object) -> None:
        changed = {name: value for name, value in values.items() if self._values.get(name) != value}
        if changed:
            self._values |= changed
            self._unwritten |= changed
            self.changed.emit()


def _write(path: Path, values: dict[str, object]) -> None:
    file = QSettings(str(path), QSettings.Format.IniFormat)  # locks the file and replaces it as a whole
    for name, value in values.items():
        file.setValue(name, value)
    file.sync()
    if file.status() != QSettings.Status.NoError:
        log.warning("%s could not be written: %s", path, file.status())
