"""Language, theme and text size of the running window: applies the settings at once when they change."""

from __future__ import annotations

import logging

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app.languages import Languages
from app.look import theme
from app.look.caret import CaretRest
from app.look.live import send_language_change, send_look_change
from app.look.theme import SIZES
from app.settings.settings import Settings
from common.failures import Failure

log = logging.getLogger(__name__)
LANGUAGE, THEME, TEXT_SIZE = "window.language", "window.theme", "window.text_size"
STEPS = (80, 90, 100, 110, 125, 150, 175, 200)


class Appearance(QObject):
    """Language, theme and text size of the whole application.

    Create it before the windows, so that they are built in the right language.
    """

    def __init__(self, application: QApplication, settings: Settings) -> None:
        super().__init__(application)
        self.application, self._settings = application, settings
        self._languages = Languages(application)
        self._caret = CaretRest(application)
        self._applied: tuple[theme.Theme, int] | None = None
        self.apply()
        settings.changed.connect(self.apply)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self.apply)

    def close(self) -> None:
        """Stop following the settings and the system's colour scheme, because the windows are about to be deleted."""
        self._settings.changed.disconnect(self.apply)
        QGuiApplication.styleHints().colorSchemeChanged.disconnect(self.apply)
        self._languages.close()
        self._caret.close()

    def apply(self) -> None:
        """Apply the language, theme and text size that the settings name."""
        self._apply_language(str(self._settings.values[LANGUAGE]))
        self._apply_theme(theme.theme_named(str(self._settings.values[THEME])), int(self._settings.values[TEXT_SIZE]))

    def larger(self) -> None:
        self._step(next((step for step in STEPS if step > SIZES.percent), STEPS[-1]))

    def smaller(self) -> None:
        self._step(next((step for step in reversed(STEPS) if step < SIZES.percent), STEPS[0]))

    def normal(self) -> None:
        self._step(100)

    def _step(self, percent: int) -> None:
        try:
            self._settings.change({TEXT_SIZE: percent})
        except Failure as failure:
            log.warning("%s", failure.log_text)
            self._apply_theme(theme.theme(), percent)  # the size cannot be stored, but it can be shown

    def _apply_language(self, choice: str) -> None:
        if self._languages.use(choice):
            send_language_change()

    def _apply_theme(self, chosen: theme.Theme, percent: int) -> None:
        if (chosen, percent) == self._applied:
            return
        self._applied = chosen, percent
        SIZES.scale(percent)
        theme.apply(self.application, chosen)
        send_look_change()
