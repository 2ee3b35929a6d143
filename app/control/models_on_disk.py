"""The chat models that can answer: those used lately, what the last scan of this computer has found, and servers'."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.services.background import Background
from common.files import is_file
from models.added_paths import AddedPaths
from models.collection import LocalModel, scan_models
from models.servers import remote_model


class ModelsOnDisk(QObject):
    """List of the models that can answer. `changed` is emitted after a scan.

    `added` has the places that the user added, `own_folder` gives that of the downloads. `recent` are the models used
    lately, the latest first; `remote` are those on servers. `scanned` is whether a scan has been completed.
    """

    changed = Signal()

    def __init__(self, parent: QObject, added: AddedPaths, own_folder: Callable[[], Path]) -> None:
        super().__init__(parent)
        self.recent: list[Path] = []
        self.remote: list[Path] = []
        self.scanned = False
        self._added, self._own_folder = added, own_folder
        self._scanned: list[Path] = []
        self._gone: set[Path] = set()  # recent files that the last scan did not find
        self._number = 0  # of the latest scan
        self._background = Background(self)

    @property
    def paths(self) -> list[Path]:
        """The models, those used lately first and those on servers last."""
        known = dict.fromkeys([*self.recent, *self._scanned, *self.remote])
        return [path for path in known if path not in self._gone]

    def scan(self, found: Callable[[list[LocalModel]], object] | None = None) -> None:
        """Look for models in the background, and hand them to `found`; a new file takes 0.1 s, a known one 20 µs.

        Of several scans that somebody waits for, only the last one counts.
        """
        if found is None and self._background.running:
            return
        recent, self._number = list(self.recent), self._number + 1
        number = self._number

        def look() -> tuple[list[LocalModel], set[Path]]:
            models = scan_models(self._added.read(), stop=lambda: self._background.closed, own=self._own_folder())
            return list(models), {path for path in recent if not (is_file(path) or remote_model(path))}

        def use(result: tuple[list[LocalModel], set[Path]]) -> None:
            if number != self._number:  # a later scan is running or has ended first
                return
            models, self._gone = result
            self._scanned = [model.path for model in models if model.usable]
            self.scanned = True
            self.changed.emit()
            if found is not None:
                found(models)

        self._background.run(look, use)
