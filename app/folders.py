"""Folders that hold what Chickadee stores, private to the user: files get mode 0600, new folders mode 0700."""

from __future__ import annotations

import functools
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from common.failures import Failure
from common.files import make_private_folder
from common.folders import DATA_DIR_VARIABLE, NAME, data_folder

PROBE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Folders:
    """The two folders: `data` holds the chat store and the settings, `logs` what the programs printed."""

    data: Path
    logs: Path

    @property
    def store(self) -> Path:
        return self.data / "library.sqlite3"

    @property
    def settings(self) -> Path:
        return self.data / "settings.toml"

    @property
    def collections(self) -> Path:
        """Folder of the index of collections."""
        return self.data / "collections"

    @property
    def geometry(self) -> Path:
        return self.data / "window.ini"


def open_folders(data: Path | None = None) -> Folders:
    """Create the folders where they are missing; raise Failure when a folder cannot be written."""
    chosen = data or _from_environment()
    logs = chosen / "logs" if chosen else Path(platformdirs.user_log_path(NAME, appauthor=False))
    folders = Folders(chosen or data_folder(), logs)
    _make_private(folders.data)
    _make_private(folders.logs)
    return folders


def _from_environment() -> Path | None:
    value = os.environ.get(DATA_DIR_VARIABLE)
    return Path(value) if value else None


def be_private() -> None:
    """Make every file that this process creates from now on readable by the user alone.

    Only files that are given a mode by `users_umask` are excepted.
    """
    users_umask()
    os.umask(0o077)


@functools.cache
def users_umask() -> int:
    """Return the umask that the process had at the first call, which says what the user keeps from others."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _make_private(folder: Path) -> None:
    """Create the folder with mode 0700 and check that it can be written; raise Failure otherwise.

    A folder that exists already may be one of the user's own and keeps its mode; the files put into it are private.
    """
    try:
        make_private_folder(folder)
        with tempfile.TemporaryFile(dir=folder, buffering=0) as probe:
            probe.write(bytes(PROBE_BYTES))  # a full disk still accepts empty files
    except OSError as error:
        raise Failure("data_folder.unwritable", str(error), folder=folder, reason=error.strerror) from error
