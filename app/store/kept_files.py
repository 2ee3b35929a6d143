"""All files that Chickadee keeps on this computer: which, how large, and how they are deleted. Knows no Qt."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from app.folders import Folders
from app.words import mark
from common.files import TEMPORARY

log = logging.getLogger(__name__)


# Folders of `common.store.Store`, and files of versions before it.
MEASURED = (
    "calibration", "crashes", "device-checks", "devices", "drafts", "exits", "looked-at", "model-facts", "phrases",
    "profile", "rankings", "refused-devices", "trial",
    "model-facts.json", "profile.json",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileKind:
    """Files that belong together, by `patterns` in `folder`.

    `plain` files can simply be removed; others only the program knows how to delete safely. Files without a `question`
    are not deleted here at all.
    """

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


def kinds(folders: Folders, cache: Path) -> tuple[FileKind, ...]:
    """Return all kinds of files in the order they are shown; `cache` is the folder for what can be computed again."""
    data, logs = folders.data, folders.logs
    return (
        FileKind("chats", mark("Chats"),
                 mark("Messages, files, projects, personas and memory, and chats deleted in the last 30 days."),
                 data, ("library*.sqlite3*",),
                 mark("Delete all chats permanently? Projects, personas and memory are kept."), plain=False),
        FileKind("saved", mark("Cached context"),
                 mark("What models have already read of your chats, so that long chats open quickly."),
                 cache, ("chats", f"{TEMPORARY}*"),
                 mark("Delete the cached context? Models will read your chats again.")),
        FileKind("collections", mark("Index of collections"),
                 mark("Texts and words of the documents in your collections. The documents stay where they are."),
                 data, ("collections",),
                 mark("Delete the index? It is made again while the computer is idle.")),
        FileKind("models", mark("Models"),
                 mark("Downloaded model files. Delete them in the Models window."),
                 data, ("models",)),
        FileKind("measurements", mark("Measurements"),
                 mark("The speed of this computer, results for each model, and details of model files."),
                 cache, MEASURED,
                 mark("Delete the measurements? They are taken again while the computer is idle.")),
        FileKind("logs", mark("Logs"),
                 mark("Reports from the program. They contain nothing from your chats."),
                 logs, ("window.log*", "engine.log*"),  # no others, because the folder may be the user's own
                 mark("Delete the logs?")),
        FileKind("snippets", mark("Prompt snippets"),
                 mark("Texts that you insert by typing / in a message. "
                      "Delete them one by one under Edit → Prompt snippets…"),
                 data, ("snippets*.json",)),
        FileKind("settings", mark("Settings"),
                 mark("Your settings, the position of the window, and keys of servers where the system has no "
                      "keyring."),
                 data, ("settings.toml", "window.ini", "server-keys.json")),
    )  # fmt: skip


def files_of(kind: FileKind) -> Iterator[Path]:
    for path in kind.paths():
        if path.is_dir() and not path.is_symlink():
            yield from (inner for inner in path.rglob("*") if inner.is_file() or inner.is_symlink())
        else:
            yield path


def measure_sizes(kinds: Iterable[FileKind]) -> dict[str, tuple[int, int]]:
    """Return the number of files and their bytes by kind; files that vanish meanwhile do not count."""
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


def delete_files(kind: FileKind) -> list[str]:
    """Delete all files of a plain kind; return the names of those that could not be deleted."""
    assert kind.plain, kind.name
    assert kind.question, kind.name
    return delete_paths(kind.paths())


def delete_paths(paths: Iterable[Path]) -> list[str]:
    """Delete files, and folders with their content; return the names of those that could not be deleted."""
    remaining: list[str] = []

    def note_failure(_function: Callable[..., object], path: str | Path, error: object) -> None:
        log.warning("not deleted: %s (%s)", path, error)
        remaining.append(str(path))

    for path in paths:
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, onerror=note_failure)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            note_failure(path.unlink, path, error)
    return remaining
