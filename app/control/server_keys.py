"""The keys of servers while the window is open: looked up once, stored and deleted in threads, as a keyring may ask."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.services.background import Background
from app.services.key_storage import FILE, KeyPlace, read_key, write_key
from app.settings.settings import Settings
from common.failures import Failure
from common.sentences import Sentence
from models.network import offline_reason


class ServerKeys(QObject):
    """The keys, which are kept in memory once they were read; `EngineModel` asks for the one of the server in use."""

    def __init__(self, settings: Settings, parent: QObject) -> None:
        super().__init__(parent)
        self._settings = settings
        self._path = settings.path.with_name(FILE)
        self._known: dict[str, str] = {}
        self._background = Background(self)

    def forbidden(self) -> Sentence | None:
        """Return why connections are turned off; None if they are allowed."""
        return offline_reason(self._settings.path)

    def find_key(self, url: str, use: Callable[[str], object], failed: Callable[[Failure], object]) -> None:
        """Call `use` with the server's key, "" if it needs none; or `failed` if the keyring does not give it."""
        server = self._settings.servers.get(url)
        place: KeyPlace = server.key if server else ""
        if url in self._known or not place:
            use(self._known.get(url, ""))
            return

        def read(key: str) -> None:
            self._known[url] = key
            use(key)

        self._background.run(lambda: read_key(url, place, self._path), read, failed)

    def find_to_connect(self, url: str, use: Callable[[str], object], failed: Callable[[Failure], object]) -> None:
        """Do the same as `find_key`; call `failed` if connections are turned off."""
        if (reason := self.forbidden()) is not None:
            failed(Failure(reason))
        else:
            self.find_key(url, use, failed)

    def store(
        self, url: str, key: str, stored: Callable[[KeyPlace], object], failed: Callable[[Failure], object]
    ) -> None:
        """Store the key, or delete it if it is ""; call `stored` with where it is."""

        def done(place: KeyPlace) -> None:
            self._known[url] = key
            stored(place)

        self._background.run(lambda: write_key(url, key, self._path), done, failed)

    def forget(self, url: str) -> None:
        """Delete the key of a server that the user has removed."""
        self._known.pop(url, None)
        self._background.run(lambda: write_key(url, "", self._path), lambda _place: None)
