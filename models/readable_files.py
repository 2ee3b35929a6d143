"""What a program that is confined may read of models: the folders where they lie, and files that it is told of by name.

The engine and its planner begin with the rights that they will have to the end (`engine.rights`). Whoever starts them
names the files that lie elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from common.confinement.program import holds_home
from common.folders import data_folder
from common.paths import path_of, path_text
from common.planning import READ
from models.added import Added
from models.places import places
from models.split import part_names

Inode = tuple[int, int]  # device and number: a file that took another's place under its name is another file


@dataclass(frozen=True, slots=True)
class Reach:
    """Of a process that is started now: `folders`, and `files` that lie elsewhere and are named to it."""

    folders: tuple[Path, ...]
    files: dict[Path, Inode | None]

    @property
    def arguments(self) -> list[str]:
        return [argument for path in self.files for argument in (READ, path_text(path))]

    def covers(self, file: str | Path) -> bool:
        path = _path(file)
        return _is_below(path, self.folders) or (path in self.files and inode(path) == self.files[path])


def reach(files: Iterable[str | Path | None]) -> Reach:
    """So that the process can read all of these files."""
    folders = tuple(_real(folder) for folder in model_folders())
    wanted = dict.fromkeys(_path(file) for file in files if file)
    return Reach(folders, {path: inode(path) for path in wanted if not _is_below(path, folders)})


def model_folders() -> tuple[Path, ...]:
    """Those that hold nothing but models, as far as one can tell: neither the home folder, which somebody may have
    added, nor our own chats."""
    own = _real(data_folder())
    found = (place.path for place in places(Added().read()))
    return tuple(path for path in found if not holds_home(path) and not own.is_relative_to(_real(path)))


def with_parts(file: Path) -> tuple[Path, ...]:
    """The file, and the others of a model that is split."""
    return tuple(file.with_name(name) for name in part_names(file.name)) if file.name else (file,)


def inode(path: Path) -> Inode | None:
    try:
        status = path.stat()
    except (OSError, ValueError):  # not there, or no name that a file can have
        return None
    return status.st_dev, status.st_ino


def _path(file: str | Path) -> Path:
    return path_of(file) if isinstance(file, str) else file


def _is_below(path: Path, folders: tuple[Path, ...]) -> bool:
    real = _real(path)
    return any(real.is_relative_to(folder) for folder in folders)


def _real(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # a circle of links, or no name that a file can have
        return path
