"""Copies a model from another drive, such as a USB stick, into the folder of our own models."""

from __future__ import annotations

import errno
import filecmp
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from common.failures import Failure
from common.files import make_private_folder, sync_folder
from models.names import model_name
from models.part_file import SPARE
from models.readable_files import with_parts
from models.removal import ASIDE

PIECE = 4 << 20


def on_other_drive(path: Path, folder: Path) -> bool:
    """Return whether the file lies on another drive than `folder`, so that it may be pulled out."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        return path.stat().st_dev != folder.stat().st_dev
    except OSError:
        return False


def copy_model(path: Path, folder: Path, stop: Callable[[], bool] = lambda: False) -> Path | None:
    """Copy a model with all its parts into `folder` and return the copy's path; None if `stop` has returned True.

    A file appears under its name only when it is complete, and never in the place of another one. Raises Failure; then
    nothing of the copy is left.
    """
    name = model_name(path)
    try:
        files = [(file, folder / file.name) for file in with_parts(path) if not _is_copied(file, folder / file.name)]
        make_private_folder(folder)
        _check_room(name, [source for source, _ in files], folder)
        for source, target in files:
            if not _copy(source, target, stop):
                return None
        sync_folder(folder)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Failure("disk_full.copied", str(error), name=name) from error
        raise Failure("unwritable.copy", str(error), name=name, folder=folder, reason=error.strerror) from error
    return folder / path.name


def _copy(source: Path, target: Path, stop: Callable[[], bool]) -> bool:
    """Copy one file under a hidden name, then rename it; delete it if that fails or is stopped."""
    part = target.with_name(f"{ASIDE}{target.name}")
    try:
        with source.open("rb") as reader, part.open("wb") as writer:
            while data := reader.read(PIECE):
                if stop():
                    return False
                writer.write(data)
            os.fsync(writer.fileno())
        part.replace(target)
        return True
    finally:
        part.unlink(missing_ok=True)


def _check_room(name: str, sources: list[Path], folder: Path) -> None:
    size, free = sum(source.stat().st_size for source in sources), shutil.disk_usage(folder).free
    if size + SPARE > free:
        raise Failure("disk_full.no_room_to_copy", name=name, size=size, short=size + SPARE - free)


def _is_copied(source: Path, target: Path) -> bool:
    """Return whether the file was copied before. Raises Failure if another file has its place."""
    if not target.exists():
        return False
    if not filecmp.cmp(source, target, shallow=False):
        raise Failure("exists.other_file", name=target.name, folder=target.parent)
    return True
