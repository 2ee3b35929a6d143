"""The places where other programs keep their chats on Linux, Windows and macOS."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.store.readers.neutral import Program
from models.locations import application_folders, gpt4all_folders, home, jan_folders, lm_studio_homes, small_json


@dataclass(frozen=True, slots=True)
class Source:
    """A file or folder with chats. `program` is None for a file that the user chose: its content shows the program."""

    path: Path
    program: Program | None = None


def found_sources() -> list[Source]:
    """Return the places that exist, each once, by program."""
    sources: dict[Path, Source] = {}
    for program, path in candidates():
        try:
            if path.exists():
                sources.setdefault(path.resolve(), Source(path, program))
        except OSError:  # a folder that the system hides from us counts as missing
            continue
    return list(sources.values())


def candidates() -> Iterator[tuple[Program, Path]]:
    """Yield each place where a program may keep chats, whether it exists or not."""
    for folder in gpt4all_folders():
        yield "gpt4all", folder
    for data in jan_folders():
        yield "jan", data / "threads"
    for folder in lm_studio_homes():
        yield "lm-studio", folder / "conversations"
    if os.environ.get("DATA_DIR"):  # the variable that Open WebUI reads
        yield "open-webui", Path(os.environ["DATA_DIR"]) / "webui.db"
    yield "open-webui", home("~/.open-webui/webui.db")
    for folder in application_folders():
        for name in ("open-webui", "Open WebUI"):  # its desktop program
            config = small_json(folder / name / "config.json")
            chosen, installed = config.get("dataDir"), config.get("installDir")
            if isinstance(chosen, str) and chosen:
                yield "open-webui", Path(chosen) / "webui.db"
            if isinstance(installed, str) and installed:
                yield "open-webui", Path(installed) / "data" / "webui.db"
            yield "open-webui", folder / name / "data" / "webui.db"
    if sys.platform not in ("win32", "darwin"):
        yield "ollama", home("~/.ollama/db.sqlite")
    for folder in application_folders():
        yield "ollama", folder / "Ollama" / "db.sqlite"
