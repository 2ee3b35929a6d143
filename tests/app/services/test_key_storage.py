"""Keys of servers: in the keyring if it keeps them, else in a private file, and in one place only."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backends.fail
import pytest

from app.services.key_storage import read_key, write_key
from common.failures import Failure
from tests.app.memory_keyring import MemoryKeyring

URL, OTHER = "http://gpu.lan:8000/v1", "https://api.example.com/v1"


@pytest.fixture
def ring() -> Iterator[MemoryKeyring]:
    before = keyring.get_keyring()
    made = MemoryKeyring()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "server-keys.json"


def test_the_keyring_has_the_key_and_no_file_does(ring: MemoryKeyring, path: Path) -> None:
    assert write_key(URL, "sesame", path) == "keyring"
    assert read_key(URL, "keyring", path) == "sesame"
    assert not path.exists()
    assert write_key(URL, "", path) == ""
    assert ring.kept == {}


def test_without_a_keyring_a_private_file_has_it(ring: MemoryKeyring, path: Path) -> None:
    keyring.set_keyring(keyring.backends.fail.Keyring())
    assert write_key(URL, "sesame", path) == "file"
    assert write_key(OTHER, "open", path) == "file"
    if sys.platform != "win32":  # there the user's folder is private, and files have no such modes
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_key(URL, "file", path) == "sesame"
    assert write_key(URL, "", path) == ""
    assert read_key(OTHER, "file", path) == "open"
    write_key(OTHER, "", path)
    assert not path.exists()


def test_a_key_moves_from_the_file_into_a_keyring_that_has_come(ring: MemoryKeyring, path: Path) -> None:
    keyring.set_keyring(keyring.backends.fail.Keyring())
    write_key(URL, "sesame", path)
    keyring.set_keyring(ring)
    assert write_key(URL, "sesame", path) == "keyring"
    assert not path.exists()


def test_a_keyring_that_keeps_nothing_is_not_believed(ring: MemoryKeyring, path: Path) -> None:
    ring.forgetful = True
    assert write_key(URL, "sesame", path) == "file"


def test_a_key_that_is_gone_or_locked_is_a_sentence(ring: MemoryKeyring, path: Path) -> None:
    with pytest.raises(Failure, match="not in the keyring any more"):
        read_key(URL, "keyring", path)
    keyring.set_keyring(keyring.backends.fail.Keyring())
    with pytest.raises(Failure, match="does not give"):
        read_key(URL, "keyring", path)
    path.parent.mkdir()
    path.write_text("[broken")
    with pytest.raises(Failure):
        read_key(URL, "file", path)
