"""The settings in the running window: opens dialog and file, hands changes on, tells what is wrong with the file."""

from __future__ import annotations

import logging

from PySide6.QtCore import QObject, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from app.notice import Notice, Told
from app.settings.options import Options, options_of
from app.settings.settings import Settings
from app.settings.wrong import Wrong
from app.settings_view.one_dialog import OneDialog
from app.settings_view.settings_dialog import SettingsDialog
from app.state.engine_state import EngineState
from app.words import tr
from common.failures import Failure

log = logging.getLogger(__name__)


class Preferences(QObject):
    """`changed` carries the Options to answer with from now on; `settled`: for the time being these are all.

    `opened` carries the dialog when it was made."""

    changed = Signal(object)
    settled = Signal()
    opened = Signal(object)

    def __init__(
        self, settings: Settings, window: QWidget, notice: Notice, settled_ms: int, max_tokens: int | None = None
    ) -> None:
        super().__init__(window)
        self.settings = settings
        self._dialog: OneDialog[SettingsDialog] = OneDialog()
        self._window, self._notice = window, notice
        self._max_tokens = max_tokens
        self._suggested: dict[str, str] = {}
        self._problems: tuple[Wrong, ...] = ()
        self._told: Told | None = None  # of them
        self._settling = QTimer(self)
        self._settling.setSingleShot(True)
        self._settling.setInterval(settled_ms)
        self._settling.timeout.connect(self.settled)
        settings.changed.connect(self._hear)

    @property
    def options(self) -> Options:
        return options_of(self.settings.values, self._max_tokens)

    @property
    def dialog(self) -> SettingsDialog | None:
        """The open one."""
        return self._dialog.open

    def open(self) -> SettingsDialog:
        """Show the dialog; an open one comes to the front."""
        self.settings.refresh()
        return self._dialog.show(self._make)

    def _make(self) -> SettingsDialog:
        dialog = SettingsDialog(self.settings, self._window)
        dialog.file.connect(self.open_file)
        dialog.suggest(self._suggested)
        self.opened.emit(dialog)
        return dialog

    def retranslate(self) -> None:
        self._dialog.retranslate()

    def restyle(self) -> None:
        self._dialog.restyle()

    def close(self) -> None:
        """The window is closing; what was typed in the dialog counts."""
        self._settling.stop()
        self._dialog.close()
        self._settling.stop()

    def open_file(self) -> None:
        """Have the system open settings.toml, which is made if there is none."""
        try:
            self.settings.make_file()
        except Failure as failure:
            self._notice.tell(failure.__str__, kind="problem", detail=failure.detail)
            return
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.settings.path))):
            path = self.settings.path
            self._notice.tell(lambda: tr("No program could open {file}. Open it in a text editor.", file=path))

    def tell_problems(self) -> None:
        """Say what of the file is not used, once for each state of it."""
        problems, before, self._problems = self.settings.problems, self._problems, self.settings.problems
        if problems == before:
            return
        if problems:
            self._told = self._notice.tell(
                problems[0].__str__,
                lambda: tr("Open settings"),
                self.open,
                kind="problem",
                detail=lambda: "\n".join(map(str, problems[1:])),
            )
        elif self._told is not None:
            self._notice.dismiss(self._told)

    def activated(self, state: Qt.ApplicationState) -> None:
        """Who comes back from an editor has perhaps changed the file there."""
        if state == Qt.ApplicationState.ApplicationActive:
            self.settings.refresh()

    def stands(self, state: EngineState) -> None:
        """Show what automatic comes to with the loaded model."""
        model = state.model
        numbers = {"engine.context": model.n_ctx, "engine.threads": model.threads} if model else {}
        self._suggested = {name: f"{number:,}" for name, number in numbers.items()}
        if self.dialog is not None:
            self.dialog.suggest(self._suggested)

    def renew(self) -> None:
        """A model's own options have changed, which go above the settings."""
        self.changed.emit(self.options)
        self._settling.start()

    def _hear(self) -> None:
        for problem in self.settings.problems:
            log.warning("%s", problem)
        self.tell_problems()
        self.renew()
