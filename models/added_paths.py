"""The folders and files that the user added to the places where models are looked for."""

from __future__ import annotations

import json
import os
from pathlib import Path

from common.failures import Failure
from common.files import is_file, is_folder, write_atomically
from common.folders import data_folder
from common.paths import shown

MOST = 200


class Added:
    """The list, stored at `path`. A damaged list is set aside, not lost."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or data_folder() / "model-folders.json"

    def read(self) -> tuple[Path, ...]:
        """Never raises: without a usable list nothing was added."""
        try:
            listed = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return ()
        if not isinstance(listed, list):
            return ()
        return tuple(Path(entry) for entry in listed[:MOST] if isinstance(entry, str) and "\0" not in entry)

    def add(self, path: Path) -> None:
        """Raises Failure when there is no such file or folder, or the list cannot be stored."""
        path = path.absolute()
        if not os.path.exists(path):  # noqa: PTH110 - Path's own raises for a folder without rights, a name too long
            raise Failure("no_such_file.or_folder", path=shown(str(path)))
        if not is_folder(path) and (path.suffix.lower() != ".gguf" or not is_file(path)):
            raise Failure("not_a_model.other_file", name=shown(path))
        listed = self.read()
        if path in listed:
            return
        if len(listed) >= MOST:
            raise Failure("too_many.added", count=MOST)
        self._write((*listed, path))

    def drop(self, path: Path) -> bool:
        """Take a file or folder off the list; the files stay. False if it was not on it."""
        listed = self.read()
        left = tuple(entry for entry in listed if entry != path)
        if left != listed:
            self._write(left)
        return left != listed

    def _write(self, listed: tuple[Path, ...]) -> None:
        try:
            if self.path.exists() and not self._whole():
                self.path.rename(self.path.with_suffix(".broken.json"))
            write_atomically(self.path, json.dumps([str(path) for path in listed], indent=1).encode())
        except OSError as error:
            raise Failure("unwritable.folders", str(error), file=self.path, reason=error.strerror) from error

    def _whole(self) -> bool:
        try:
            return isinstance(json.loads(self.path.read_bytes()), list)
        except (ValueError, RecursionError):
            return False
