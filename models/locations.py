"""Folders where model files lie: our own, those that the user added, and those of other programs, which are only read.

LM Studio, Ollama, llama.cpp and the Hugging Face hub's library keep GGUF files where their documentation says; a place
that is not there is no place. Knows nothing of what is in the files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from common.files import read_small
from common.folders import data_folder

Kind = Literal["own", "added", "built-in", "lm-studio", "ollama", "hub", "llama.cpp"]
NAMES: dict[Kind, str] = {
    "own": "Chickadee",
    "added": "added",
    "built-in": "built in",
    "lm-studio": "LM Studio",
    "ollama": "Ollama",
    "hub": "Hugging Face cache",
    "llama.cpp": "llama.cpp",
}
MAX_DEPTH = 6  # folders below a place: hub/models--a--b/snapshots/<commit>/<folder> are four
MAX_FOLDERS = 20_000  # of a place: somebody may add their home folder


@dataclass(frozen=True, slots=True)
class Place:
    """A folder, or, of kind `added`, also a single file. Only files in `own` are ours to delete."""

    kind: Kind
    path: Path

    @property
    def is_ours(self) -> bool:
        return self.kind == "own"


def own_folder() -> Path:
    """Where downloads go; it may not exist yet."""
    return data_folder() / "models"


def places(added: Iterable[Path] = (), own: Path | None = None) -> tuple[Place, ...]:
    """Those that exist, ours first, none twice. `own`: where ours is, if not where it usually is."""
    found: dict[Path, Place] = {}
    for kind, path in _candidates(added, own or own_folder()):
        try:
            if path.is_dir() or (kind == "added" and path.is_file()):
                found.setdefault(path.resolve(), Place(kind, path))
        except OSError:  # a folder that may not even be looked for is not there for us
            continue
    return tuple(found.values())


def _candidates(added: Iterable[Path], own: Path) -> Iterator[tuple[Kind, Path]]:
    yield "own", own
    for path in added:
        yield "added", path
    for path in _lm_studio():
        yield "lm-studio", path
    for path in _from("OLLAMA_MODELS", "~/.ollama/models", "/usr/share/ollama/.ollama/models"):
        yield "ollama", path
    for path in _hub():
        yield "hub", path
    for path in _from("LLAMA_CACHE", "~/.cache/llama.cpp", "~/Library/Caches/llama.cpp"):
        yield "llama.cpp", path


def _lm_studio() -> Iterator[Path]:
    """Its home may be moved (a pointer file says where to), and so may its folder for models (its settings say)."""
    homes = [Path(text) for text in [_text("~/.lmstudio-home-pointer").strip()] if text]
    for home in (*homes, _home("~/.lmstudio"), _home("~/.cache/lm-studio")):
        try:
            settings = json.loads(_text(str(home / "settings.json")) or "{}")
        except (ValueError, RecursionError):
            settings = {}
        folder = settings.get("downloadsFolder") if isinstance(settings, dict) else None
        if isinstance(folder, str) and folder:
            yield Path(folder)
        yield home / "models"


def _hub() -> Iterator[Path]:
    if os.environ.get("HF_HUB_CACHE"):
        yield Path(os.environ["HF_HUB_CACHE"])
    if os.environ.get("HF_HOME"):
        yield Path(os.environ["HF_HOME"]) / "hub"
    yield Path(os.environ.get("XDG_CACHE_HOME") or _home("~/.cache")) / "huggingface" / "hub"


def _from(variable: str, *usual: str) -> Iterator[Path]:
    if os.environ.get(variable):
        yield Path(os.environ[variable])
    yield from map(_home, usual)


def _home(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # no home folder
        return Path(path)


def _text(path: str) -> str:
    try:
        return read_small(_home(path), 1 << 16).decode(errors="replace")
    except OSError:
        return ""


def gguf_files(folder: Path) -> Iterator[Path]:
    """The GGUF files in the folder and below, in order; links are followed, circles and hidden files are not."""
    seen: set[tuple[int, int]] = set()
    waiting = [(folder, 0)]
    while waiting and len(seen) < MAX_FOLDERS:
        current, depth = waiting.pop()
        try:
            status = current.stat()
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            entries = sorted(os.scandir(current), key=lambda entry: entry.name, reverse=True)
        except OSError:  # unreadable folders hold nothing for us
            continue
        yield from (Path(entry.path) for entry in reversed(entries) if _is_model(entry))
        if depth < MAX_DEPTH:
            waiting += [(Path(entry.path), depth + 1) for entry in entries if _is_folder(entry)]


def _is_model(entry: os.DirEntry[str]) -> bool:
    return entry.name.lower().endswith(".gguf") and not entry.name.startswith(".") and not _is_folder(entry)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir() and not entry.name.startswith(".")
    except OSError:  # a circle of links
        return False
