"""The servers: their dialog, the test of one, and storing, changing and removing them together with their keys."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.control.server_keys import ServerKeys
from app.dialogs.server_dialog import Entered, ServerDialog
from app.look.sheet import HasDialog, OneDialog
from app.services.key_storage import FILE, KeyPlace
from app.services.server_probe import ServerProbe
from app.settings.servers import SavedServer
from app.settings.settings import Settings
from app.words import UiText, tr
from common.failures import Failure
from engine.protocol.events import ModelsListed
from engine.protocol.requests import Server

log = logging.getLogger(__name__)


class ServerController(QObject, HasDialog[ServerDialog]):
    """Controller of the servers in the settings.

    Signals: `changed` carries the server that was stored, or the removed one without models; `noted` a text for the
    user.
    """

    changed = Signal(object)
    noted = Signal(object)

    def __init__(self, settings: Settings, keys: ServerKeys, parent: QObject) -> None:
        super().__init__(parent)
        self._settings, self._keys = settings, keys
        self._dialog = OneDialog[ServerDialog](lambda: self._probe.close())
        self._probe = ServerProbe(self)

    def open(self, parent: QWidget, url: str = "") -> None:
        """Open the dialog of the server with this address, or of a new one."""
        self._dialog.close()
        dialog = self._dialog.show(lambda: ServerDialog(self._settings.servers.get(url), parent))
        dialog.test_requested.connect(self._test)
        dialog.saved.connect(self._save)
        dialog.remove_requested.connect(self._remove)

    def close_dialog(self) -> None:
        """Close the dialog, whose parent is about to be gone."""
        self._dialog.close()

    def close(self) -> None:
        self._probe.close()
        self._dialog.close()

    # --- what is asked in the dialog --------------------------------------------------------------------------------

    def _test(self, url: str, key: str | None) -> None:
        """Look at the server; the user agreed to connect by pressing the button."""
        dialog = self.dialog
        if dialog is None:
            return
        reason = self._keys.forbidden()
        if reason is not None:
            dialog.show_problem(reason)
            return
        dialog.show_testing()
        if key is None and dialog.server is not None:
            self._keys.find_key(dialog.server.url, lambda saved: self._look(url, saved), self._show_failure)
        else:
            self._look(url, key or "")

    def _look(self, url: str, key: str) -> None:
        self._probe.look(Server(url, key), self._show_models, self._show_failure)

    def _show_models(self, listed: ModelsListed) -> None:
        if self.dialog is None:
            return
        if listed.models:
            self.dialog.show_models(listed.url, listed.software, listed.models)
        else:
            self.dialog.show_problem(lambda: tr("The server answers, but it has no models. Load one there first."))

    def _save(self, entered: Entered) -> None:
        dialog = self.dialog
        if dialog is None:
            return
        before = dialog.server
        url, kept = before.url if before else "", before.key if before else ""
        server = SavedServer(entered.url, entered.name, entered.models, kept)
        if entered.key is None and url == entered.url:
            self._store(server, url)
        elif entered.key is None and kept:  # the key goes with the server to its new address
            self._keys.find_key(url, lambda key: self._store_with_key(server, url, key), self._show_failure)
        else:
            self._store_with_key(server, url, entered.key or "")

    def _store_with_key(self, server: SavedServer, before: str, key: str) -> None:
        def stored(place: KeyPlace) -> None:
            if before and before != server.url:
                self._keys.forget(before)
            self._store(replace(server, key=place), before)
            if place == "file":
                path = self._settings.path.with_name(FILE)
                self.noted.emit(
                    lambda: tr(
                        "This system has no keyring, so the key is in a file that only you can read: {file}", file=path
                    )
                )

        if key or (before and self._settings.servers[before].key):
            self._keys.store(server.url, key, stored, self._show_failure)
        else:
            stored("")

    def _store(self, server: SavedServer, before: str) -> None:
        def store() -> None:
            self._settings.save_server(server, before)
            self._dialog.close()
            self.changed.emit(server)

        self._do(store)

    def _remove(self) -> None:
        server = self.dialog.server if self.dialog else None
        if server is None:
            return

        def remove() -> None:
            self._settings.remove_server(server.url)
            self._keys.forget(server.url)
            self._dialog.close()
            self.changed.emit(replace(server, models=()))

        self._do(remove)

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Failure as failure:
            self._show_failure(failure)

    def _show_failure(self, failure: Failure) -> None:
        log.warning("%s", failure.log_text)
        sentence: UiText = failure.sentence
        if self.dialog is not None:
            self.dialog.show_problem(sentence)
        else:
            self.noted.emit(sentence)
