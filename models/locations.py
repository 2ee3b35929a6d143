"""Folders that hold model files: our own, those that the user added, and those of other programs, which are only read.

LM Studio, Ollama, Jan, GPT4All, llama.cpp and the Hugging Face hub's library keep GGUF files in documented folders.
This module finds files by name; it reads none of them.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from common.files import read_small
from common.folders import data_folder

LocationKind = Literal["own", "added", "built-in", "lm-studio", "ollama", "jan", "gpt4all", "hub", "llama.cpp"]
LOCATION_NAMES: dict[LocationKind, str] = {
    "own": "Chickadee",
    "added": "added",
    "built-in": "built in",
    "lm-studio": "LM Studio",
    "ollama": "Ollama",
    "jan": "Jan",
    "gpt4all": "GPT4All",
    "hub": "Hugging Face cache",
    "llama.cpp": "llama.cpp",
}
MAX_DEPTH = 6  # levels of folders; the hub's cache needs four: models--a--b/snapshots/<commit>/<folder>
MAX_FOLDERS = 20_000  # in one location: a user may add the home folder


@dataclass(frozen=True, slots=True)
class ModelLocation:
    """Folder of models; of kind `added` it may also be a single file. Only files in `own` are ours to delete."""

    kind: LocationKind
    path: Path

    @property
    def is_ours(self) -> bool:
        return self.kind == "own"


def own_folder(settings: Path | None = None) -> Path:
    """Return the folder for downloads, which may not exist yet: the one named in the settings file, or the usual one.

    `settings` replaces the usual path of that file. What is no absolute path there does not count.
    """
    settings = settings or data_folder() / "settings.toml"
    try:
        section = tomllib.loads(read_small(settings, 1 << 20).decode("utf-8-sig")).get("models")
    except (OSError, ValueError, RecursionError):  # the window reports what is wrong with the file
        section = None
    chosen = section.get("folder") if isinstance(section, dict) else None
    named = Path(chosen) if isinstance(chosen, str) and "\0" not in chosen else Path()
    return named if named.is_absolute() else usual_folder(settings)


def usual_folder(settings: Path | None = None) -> Path:
    """Return the folder for downloads while the user has chosen no other one; models that are in it stay there."""
    return (settings.parent if settings else data_folder()) / "models"


def model_locations(added: Iterable[Path] = (), own: Path | None = None) -> tuple[ModelLocation, ...]:
    """Return the places that exist, each once, our own first. `own` replaces the usual path of our own folder."""
    by_path: dict[Path, ModelLocation] = {}
    for kind, path in _candidates(added, own or own_folder()):
        try:
            if path.is_dir() or (kind == "added" and path.is_file()):
                by_path.setdefault(path.resolve(), ModelLocation(kind, path))
        except OSError:  # a folder that the system hides from us counts as missing
            continue
    return tuple(by_path.values())


def _candidates(added: Iterable[Path], own: Path) -> Iterator[tuple[LocationKind, Path]]:
    yield "own", own
    yield "own", usual_folder()
    for path in added:
        yield "added", path
    for path in _lm_studio():
        yield "lm-studio", path
    for path in _from("OLLAMA_MODELS", "~/.ollama/models", "/usr/share/ollama/.ollama/models"):
        yield "ollama", path
    for path in _jan():
        yield "jan", path
    for path in gpt4all_folders():
        yield "gpt4all", path
    for path in _hub():
        yield "hub", path
    for path in _from("LLAMA_CACHE", "~/.cache/llama.cpp", "~/Library/Caches/llama.cpp"):
        yield "llama.cpp", path


def _lm_studio() -> Iterator[Path]:
    """Yield LM Studio's model folders: its settings may move them."""
    for base in lm_studio_homes():
        folder = small_json(base / "settings.json").get("downloadsFolder")
        if isinstance(folder, str) and folder:
            yield Path(folder)
        yield base / "models"


def lm_studio_homes() -> list[Path]:
    """Return the folders in which LM Studio may keep models, chats and settings."""
    homes = [Path(text) for text in [_text("~/.lmstudio-home-pointer").strip()] if text]
    return [*homes, home("~/.lmstudio"), home("~/.cache/lm-studio")]


def _jan() -> Iterator[Path]:
    """Yield Jan's model folders; versions before 0.6 had other ones."""
    for data in jan_folders():
        yield data / "llamacpp" / "models"
        yield data / "models"


def jan_folders() -> list[Path]:
    """Return the folders in which Jan may keep models and chats."""
    bases = [folder / "Jan" for folder in application_folders()]
    moved = [data for base in bases if isinstance(data := small_json(base / "settings.json").get("data_folder"), str)]
    return [*map(Path, filter(None, moved)), *(base / "data" for base in bases), home("~/jan")]


def gpt4all_folders() -> Iterator[Path]:
    """Yield the folders of GPT4All's models and chats; the line modelPath of its settings may name another one."""
    for folder in application_folders():
        moved = re.search(r"^modelPath=(.+)$", _text(str(folder / "nomic.ai" / "GPT4All.ini")), re.MULTILINE)
        if moved:
            yield Path(moved[1].strip().strip('"'))
        yield folder / "nomic.ai" / "GPT4All"


def application_folders() -> Iterator[Path]:
    """Yield the folders in which programs keep settings and data on this system."""
    if sys.platform == "win32":
        yield from _from("APPDATA", "~/AppData/Roaming")
        yield from _from("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        yield home("~/Library/Application Support")
        yield home("~/.config")
    else:
        yield from _from("XDG_CONFIG_HOME", "~/.config")
        yield from _from("XDG_DATA_HOME", "~/.local/share")


def _hub() -> Iterator[Path]:
    if os.environ.get("HF_HUB_CACHE"):
        yield Path(os.environ["HF_HUB_CACHE"])
    if os.environ.get("HF_HOME"):
        yield Path(os.environ["HF_HOME"]) / "hub"
    yield Path(os.environ.get("XDG_CACHE_HOME") or home("~/.cache")) / "huggingface" / "hub"


def _from(variable: str, *usual: str) -> Iterator[Path]:
    if os.environ.get(variable):
        yield Path(os.environ[variable])
    yield from map(home, usual)


def home(path: str) -> Path:
    """Expand ~ in a path; without a home folder it stays."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def small_json(path: Path) -> dict[str, object]:
    """Return the object in a small JSON file; empty if there is none."""
    try:
        content = json.loads(_text(str(path)) or "{}")
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _text(path: str) -> str:
    try:
        return read_small(home(path), 1 << 16).decode(errors="replace")
    except OSError:
        return ""


def gguf_files(folder: Path) -> Iterator[Path]:
    """Yield the GGUF files in the folder and below in order, following links but not circles, except hidden files."""
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
        except OSError:  # skip unreadable folders
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
