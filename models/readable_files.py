"""Model files that a confined program may read: everything in the model folders, and single files named to it.

The engine and its planner give up all other rights when they start (`engine.rights`). Whoever starts them names the
files that lie outside the model folders.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from common.confinement.program import holds_home
from common.engine_program import READ_OPTION
from common.folders import data_folder
from common.paths import path_of, path_text
from models.added_paths import AddedPaths
from models.locations import model_locations
from models.projector import projector_files
from models.split import part_names

Inode = tuple[int, int]  # device and inode number; they differ if another file has replaced this one


@dataclass(frozen=True, slots=True)
class ReadableFiles:
    """Rights of a process that is started now: model `folders`, and `files` outside of them that are named to it."""

    folders: tuple[Path, ...]
    files: dict[Path, Inode | None]

    @property
    def arguments(self) -> list[str]:
        return [argument for path in self.files for argument in (READ_OPTION, path_text(path))]

    def covers(self, file: str | Path) -> bool:
        path = _path(file)
        return _is_below(path, self.folders) or (path in self.files and inode(path) == self.files[path])


def readable_files(files: Iterable[str | Path | None]) -> ReadableFiles:
    """Return the rights that let a process read all of these files."""
    folders = tuple(_real(folder) for folder in model_folders())
    wanted = dict.fromkeys(_path(file) for file in files if file)
    return ReadableFiles(folders, {path: inode(path) for path in wanted if not _is_below(path, folders)})


def model_folders() -> tuple[Path, ...]:
    """Return the folders that hold nothing but models.

    The home folder, which a user may have added, is left out, and so is a folder that contains our chats.
    """
    own = _real(data_folder())
    paths = (location.path for location in model_locations(AddedPaths().read()))
    return tuple(path for path in paths if not holds_home(path) and not own.is_relative_to(_real(path)))


def with_parts(file: Path) -> tuple[Path, ...]:
    """Return the file together with the other parts of its model and its projectors."""
    if not file.name:
        return (file,)
    return (*(file.with_name(name) for name in part_names(file.name)), *projector_files(file))


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
