"""Where Chickadee keeps what it stores, private to the user: files 0600, folders that it makes 0700."""

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
    """The two folders: `data` holds the store, `logs` what the programs printed."""

    data: Path
    logs: Path

    @property
    def store(self) -> Path:
        return self.data / "library.sqlite3"

    @property
    def settings(self) -> Path:
        return self.data / "settings.toml"

    @property
    def geometry(self) -> Path:
        return self.data / "window.ini"


def open_folders(data: Path | None = None) -> Folders:
    """Create the folders where they are missing; raises Failure when the data folder cannot be written."""
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
    """Whatever this process writes from here on is the user's alone, but for what is given a mode by `users_umask`."""
    users_umask()
    os.umask(0o077)


@functools.cache
def users_umask() -> int:
    """What the user keeps from others in the files that he makes elsewhere: as it was when this was asked first."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _make_private(folder: Path) -> None:
    """One that is there already may be a folder of the user's, and stays as it is: what is put into it is private."""
    try:
        make_private_folder(folder)
        with tempfile.TemporaryFile(dir=folder, buffering=0) as probe:
            probe.write(bytes(PROBE_BYTES))  # a full disk still takes empty files
    except OSError as error:
        raise Failure("data_folder.unwritable", str(error), folder=folder, reason=error.strerror) from error
