"""A collection as the user made it: a name and folders. What is in the folders is in the index."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Collection:
    """Folders that are searched together. `paused`: they are searched, but changes in them are not indexed.

    `folders` are absolute paths.
    """

    name: str
    folders: tuple[str, ...] = ()
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created_at: float = field(default_factory=time.time)
    paused: bool = False

    def with_folder(self, folder: Path) -> Collection:
        """Return the collection with one folder more; folders below it are not named any more."""
        added = os.path.normpath(folder.absolute())
        if any(lies_in(added, each) for each in self.folders):
            return self
        others = tuple(each for each in self.folders if not lies_in(each, added))
        return replace(self, folders=(*others, added))

    def without_folder(self, folder: str) -> Collection:
        return replace(self, folders=tuple(each for each in self.folders if each != folder))


def lies_in(path: str, folder: str) -> bool:
    """Return whether `path` is the folder or lies below it."""
    return path == folder or path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def outermost(folders: Iterable[str]) -> tuple[str, ...]:
    """Return the folders without those that lie in another one, sorted: no file is in two of them."""
    outer: list[str] = []
    for folder in sorted(set(folders)):
        if not any(lies_in(folder, each) for each in outer):
            outer.append(folder)
    return tuple(outer)
