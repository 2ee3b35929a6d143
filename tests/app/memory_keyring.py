"""A keyring in memory, so that no test touches the user's own."""

from __future__ import annotations

import keyring.backend


class MemoryKeyring(keyring.backend.KeyringBackend):
    """A keyring in memory; a `forgetful` one says that it has stored a key, and has not."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.forgetful = False

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if not self.forgetful:
            self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]
