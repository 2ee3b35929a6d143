"""Where Chickadee keeps what it stores, private to the user (folders 0700, files 0600)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from models.failures import Failure
from models.folders import DATA_DIR_VARIABLE, NAME, data_folder

PROBE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Folders:
    """The two folders: `data` holds the library, `logs` what the programs printed."""

    data: Path
    logs: Path

    @property
    def library(self) -> Path:
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


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.touch(mode=0o600)
        probe.write_bytes(bytes(PROBE_BYTES))  # a full disk still takes empty files
        probe.unlink(missing_ok=True)  # of several starts at once
    except OSError as error:
        sentence = (
            f"Chickadee cannot write to its folder {folder}: {error.strerror}. Check its permissions and free space."
        )
        raise Failure("data_folder", sentence, str(error)) from error
    if os.name == "posix" and folder.stat().st_uid == os.getuid():
        folder.chmod(0o700)
