"""List of the folders and files that the user added to the places where models are looked for."""

from __future__ import annotations

import json
import os
from pathlib import Path

from common.failures import Failure
from common.files import is_file, is_folder, write_atomically
from common.folders import data_folder
from common.paths import display_name

MOST_PATHS = 200


class AddedPaths:
    """Stored list of added paths, in the file `path`. A damaged file is renamed, not overwritten."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or data_folder() / "model-folders.json"

    def read(self) -> tuple[Path, ...]:
        """Return the added paths; an unreadable list counts as empty. Never raises."""
        try:
            listed = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return ()
        if not isinstance(listed, list):
            return ()
        return tuple(Path(entry) for entry in listed[:MOST_PATHS] if isinstance(entry, str) and "\0" not in entry)

    def add(self, path: Path) -> None:
        """Append a file or folder. Raises Failure if it does not exist, is no model, or the list cannot be stored."""
        path = path.absolute()
        if not os.path.exists(path):  # noqa: PTH110 - Path's own raises for a folder without rights, a name too long
            raise Failure("no_such_file.or_folder", path=display_name(str(path)))
        if not is_folder(path) and (path.suffix.lower() != ".gguf" or not is_file(path)):
            raise Failure("not_a_model.other_file", name=display_name(path))
        listed = self.read()
        if path in listed:
            return
        if len(listed) >= MOST_PATHS:
            raise Failure("too_many.added", count=MOST_PATHS)
        self._write((*listed, path))

    def drop(self, path: Path) -> bool:
        """Remove a path from the list and return whether it was listed; the files themselves stay."""
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
