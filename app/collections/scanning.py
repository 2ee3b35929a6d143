"""Which files of a folder are new, changed or gone since they were indexed, by size and time of change."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

MOST_FILES = 100_000  # of one folder
MOST_FOLDERS = 1_000  # that are watched for changes
# Files whose names say that they have no text; they are passed over without a word.
NAMES_WITHOUT_TEXT = """
    .7z .a .apk .avi .bin .bmp .bz2 .class .dat .db .deb .dll .dmg .dylib .exe .flac .gguf .gif .gz .ico .img .iso
    .jar .jpeg .jpg .lock .m4a .mkv .mov .mp3 .mp4 .npy .npz .o .obj .ogg .onnx .opus .otf .pack .parquet .pkl .png .pt
    .pyc .rar .rpm .safetensors .so .sqlite .sqlite3 .svg .tar .tif .tiff .ttf .wav .webm .webp .whl .woff .woff2 .xz
    .zip .zst"""
NO_TEXT = frozenset(NAMES_WITHOUT_TEXT.split())
PASSED_OVER = frozenset(("node_modules", "__pycache__", "venv", "site-packages"))  # folders of programs, not of texts


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file in a folder: bytes, and time of its last change in nanoseconds."""

    path: str
    size: int
    modified: int


@dataclass
class Scan:
    """The result of looking through one folder; `missing` if it is not there, as on a stick that was pulled out."""

    folder: str
    files: list[TextFile] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    missing: bool = False
    full: bool = False

    def new(self, known: Mapping[str, tuple[int, int, str]]) -> list[TextFile]:
        """Return the files that are not `known` (size, time of change, reason), or have changed since."""
        return [each for each in self.files if known.get(each.path, ())[:2] != (each.size, each.modified)]

    def gone(self, known: Iterable[str]) -> list[str]:
        """Return those of the known files in this folder that are no longer there."""
        if self.missing or self.full:
            return []
        present = {each.path for each in self.files}
        return [path for path in known if path not in present]


def scan(folder: str) -> Scan:
    """Look through a folder and all below it, without hidden files, links and files that have no text."""
    result = Scan(folder)
    if not os.path.isdir(folder):  # noqa: PTH112  # False also where the system refuses to say
        result.missing = True
        return result
    for file in _walk(folder, result):
        if len(result.files) >= MOST_FILES:
            result.full = True
            break
        result.files.append(file)
    return result


def _walk(folder: str, result: Scan) -> Iterator[TextFile]:
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        if len(result.folders) < MOST_FOLDERS:
            result.folders.append(current)
        try:
            entries = sorted(os.scandir(current), key=lambda entry: entry.name)
        except OSError:  # no right to look into it
            continue
        for entry in entries:
            if entry.name.startswith((".", "~$")) or entry.is_symlink() or not _is_text(entry.path):
                continue
            try:
                if entry.is_dir():
                    if entry.name not in PASSED_OVER:
                        waiting.append(entry.path)
                elif entry.is_file() and os.path.splitext(entry.name)[1].lower() not in NO_TEXT:  # noqa: PTH122
                    status = entry.stat()
                    if status.st_size:
                        yield TextFile(entry.path, status.st_size, status.st_mtime_ns)
            except OSError:  # it has vanished meanwhile
                continue


def _is_text(path: str) -> bool:
    """Return whether a path can be stored; names in no encoding cannot."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
