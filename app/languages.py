"""The window's language, switched while the window runs: our own texts and those of Qt's dialogs."""

from __future__ import annotations

import logging

from PySide6.QtCore import QLibraryInfo, QLocale, QObject, QTranslator
from PySide6.QtWidgets import QApplication

from app import words
from app.words import ENGLISH, best_of, read_catalogue
from engine.protocol.settings import AUTO
from models.assets import asset

log = logging.getLogger(__name__)
NAMES = {ENGLISH: "English", "zh_CN": "简体中文"}  # each as its speakers write it


def language_of(choice: str) -> str:
    """Return the key of NAMES for a setting's value, AUTO or a key of NAMES."""
    return best_of(QLocale.system().uiLanguages()) if choice == AUTO else choice


class Languages(QObject):
    """The language in use; `current` is a key of NAMES.

    `use` switches the language; widgets that show texts set them again afterwards.
    """

    def __init__(self, application: QApplication) -> None:
        super().__init__(application)
        self.current = ENGLISH
        self._application = application
        self._qt: QTranslator | None = None

    def use(self, choice: str) -> bool:
        """Switch to the language of a setting's value, AUTO or a key of NAMES; return whether it changed."""
        wanted = language_of(choice)
        if wanted == self.current:
            return False
        self.current = wanted
        self._use_qt(wanted)
        if wanted == ENGLISH:
            words.use(None)
        else:
            words.use(read_catalogue(asset(f"translations/{wanted}.ts")).translate)
        return True

    def close(self) -> None:
        """Switch back to English, so that a later window of this process starts in English."""
        self.use(ENGLISH)

    def _use_qt(self, wanted: str) -> None:
        """Load Qt's own translation, which its file dialog and the context menus of text fields use."""
        if self._qt is not None:
            self._application.removeTranslator(self._qt)
            self._qt = None
        if wanted == ENGLISH:
            return
        translator = QTranslator(self)
        if translator.load(f"qtbase_{wanted}", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)):
            self._application.installTranslator(translator)
            self._qt = translator
        else:
            log.warning("Qt has no words in %s here; its own dialogs stay English", wanted)
