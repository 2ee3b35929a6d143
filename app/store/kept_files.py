"""Everything that Chickadee keeps on this computer: which files, how large, and how they are deleted. Knows no Qt."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from app.folders import Folders
from app.words import mark

log = logging.getLogger(__name__)


# Folders of `common.store.Store`, and what versions before it kept.
MEASURED = (
    "calibration", "crashes", "drafts", "exits", "looked-at", "model-facts", "phrases", "profile", "rankings", "trial",
    "model-facts.json", "profile.json", ".chickadee-*",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """Files that belong together: `patterns` in `folder`. Those of which only the program knows how to delete them
    safely are not `plain` files to remove; those without `question` are not deleted here at all."""

    name: str
    title: str
    help: str
    folder: Path
    patterns: tuple[str, ...]
    question: str = ""
    plain: bool = True

    def paths(self) -> Iterator[Path]:
        for pattern in self.patterns:
            yield from sorted(self.folder.glob(pattern))


def kinds(folders: Folders, cache: Path) -> tuple[Kind, ...]:
    """In the order they are shown. `cache`: the folder for what can be worked out again."""
    return (
        Kind(
            "chats",
            mark("Chats"),
            mark("Messages, attached files, folders and personas, and chats deleted in the last 30 days."),
            folders.data,
            ("library*.sqlite3*",),
            mark("Delete all chats permanently? Folders and personas are kept."),
            plain=False,
        ),
        Kind(
            "saved",
            mark("Cached context"),
            mark("What models have already read of your chats, so that long chats open quickly."),
            cache,
            ("chats", "moving-*"),
            mark("Delete the cached context? Models will read your chats again."),
        ),
        Kind(
            "models",
            mark("Models"),
            mark("Downloaded model files. Delete them in the Models window."),
            folders.data,
            ("models",),
        ),
        Kind(
            "measurements",
            mark("Measurements"),
            mark("The speed of this computer, results for each model, and details of model files."),
            cache,
            MEASURED,
            mark("Delete the measurements? They are taken again while the computer is idle."),
        ),
        Kind(
            "logs",
            mark("Logs"),
            mark("Reports from the program. They contain nothing from your chats."),
            folders.logs,
            ("window.log*", "engine.log*"),  # and no others: the folder may be the user's own
            mark("Delete the logs?"),
        ),
        Kind(
            "settings",
            mark("Settings"),
            mark("Your settings and the position of the window."),
            folders.data,
            ("settings.toml", "window.ini"),
        ),
    )


def files_of(kind: Kind) -> Iterator[Path]:
    for path in kind.paths():
        if path.is_dir() and not path.is_symlink():
            yield from (inner for inner in path.rglob("*") if inner.is_file() or inner.is_symlink())
        else:
            yield path


def measured(kinds: Iterable[Kind]) -> dict[str, tuple[int, int]]:
    """Number of files and their bytes, by the kinds' names. Files that vanish meanwhile do not count."""
    return {kind.name: _total(files_of(kind)) for kind in kinds}


def _total(paths: Iterable[Path]) -> tuple[int, int]:
    count = size = 0
    for path in paths:
        try:
            size += path.lstat().st_size
        except OSError:
            continue
        count += 1
    return count, size


def delete_files(kind: Kind) -> list[str]:
    """Delete all files of a plain kind; returns the names of those that could not be."""
    assert kind.plain, kind.name
    assert kind.question, kind.name
    return delete_paths(kind.paths())


def delete_paths(paths: Iterable[Path]) -> list[str]:
    """Delete these files, and folders with all in them; returns the names of those that could not be."""
    left: list[str] = []

    def stays(_function: Callable[..., object], path: str, error: object) -> None:
        log.warning("not deleted: %s (%s)", path, error)
        left.append(path)

    for path in paths:
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, onerror=stays)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            stays(path.unlink, str(path), error)
    return left
