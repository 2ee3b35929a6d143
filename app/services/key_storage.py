"""Where the keys of servers are: in the system's keyring, or where there is none in a file that only the user can read.

They are nowhere else: settings, logs, exports and command lines have none. Knows no Qt.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Literal

from common.failures import Failure, system_failures
from common.files import read_small, write_atomically
from common.log_format import kind_of

log = logging.getLogger(__name__)
KeyPlace = Literal["", "keyring", "file"]
SERVICE = "Chickadee"  # the name that the system's keyring shows
FILE = "server-keys.json"
MOST_BYTES = 1 << 20


def read_key(url: str, place: KeyPlace, path: Path) -> str:
    """Return the key of the server. Raises Failure if it is not where it should be."""
    if place == "file":
        key = _keys_in(path).get(url)
    else:
        import keyring

        try:
            key = keyring.get_password(SERVICE, url)
        except Exception as error:  # keyrings raise what their system's libraries raise
            raise Failure("keyring.locked", kind_of(error)) from error
    if not key:
        raise Failure("keyring.no_key")
    return key


def write_key(url: str, key: str, path: Path) -> KeyPlace:
    """Store the key in the keyring, else in the file at `path`; return where. "" deletes it in both. Raises Failure."""
    in_keyring = _is_in_keyring(url, key)
    _write_file(path, url, "" if in_keyring else key)
    if not key:
        return ""
    return "keyring" if in_keyring else "file"


def _is_in_keyring(url: str, key: str) -> bool:
    """Store the key in the system's keyring; return whether it is there: some say yes and keep nothing."""
    import keyring

    try:
        if not key:
            keyring.delete_password(SERVICE, url)
            return False
        keyring.set_password(SERVICE, url, key)
        return keyring.get_password(SERVICE, url) == key
    except Exception as error:  # noqa: BLE001 - keyrings raise what their system's libraries raise
        log.info("no keyring was changed: %s", kind_of(error))
        return False


def _keys_in(path: Path) -> dict[str, str]:
    try:
        content = json.loads(read_small(path, MOST_BYTES))
    except (OSError, ValueError):
        return {}
    pairs = content.items() if isinstance(content, dict) else ()
    return {url: key for url, key in pairs if isinstance(url, str) and isinstance(key, str)}


def _write_file(path: Path, url: str, key: str) -> None:
    before = _keys_in(path)
    keys = {**before, url: key} if key else {each: its for each, its in before.items() if each != url}
    if keys == before:
        return
    with system_failures("keyring.unwritable", file=path):
        if keys:
            write_atomically(path, json.dumps(keys, indent=1).encode())
        else:
            path.unlink(missing_ok=True)
