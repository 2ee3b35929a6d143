"""Reads what a Linux program needs from the system, libraries and glibc version, with binutils' objdump."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

MAGIC = b"\x7fELF"
OPTIONAL = (
    "libvulkan.so.1",
)  # without it the backend for graphics processors is not loaded, and the processor computes


@cache
def headers(path: Path) -> str:
    return subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout


def has_debug_symbols(path: Path) -> bool:
    sections = subprocess.run(["objdump", "-h", path], capture_output=True, text=True, check=True).stdout
    return " .debug_info " in sections


def needed(path: Path) -> list[str]:
    """Return the names of the libraries that the file itself is linked to."""
    return re.findall(r"^\s+NEEDED\s+(\S+)", headers(path), re.M)


def glibc(path: Path) -> tuple[int, ...]:
    """Return the oldest glibc version that the file can run with, such as (2, 17); () if it uses none."""
    versions = re.findall(r"^\s+0x\w+ 0x\w+ \d+ GLIBC_([\d.]+)$", headers(path), re.M)
    return max((numbers(version) for version in versions), default=())


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def programs(folder: Path) -> Iterator[Path]:
    """Yield all programs and libraries in the folder and below, each once."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(4) == MAGIC:
                    yield path


def outside(files: Iterable[Path], folder: Path) -> dict[str, list[str]]:
    """Return the libraries that the files need from outside the folder, each with the files that need it."""
    inside = {path.name for path in folder.rglob("*.so*")}
    missing: dict[str, list[str]] = {}
    for path in files:
        for name in needed(path):
            if name not in inside and name not in OPTIONAL:
                missing.setdefault(name, []).append(path.name)
    return dict(sorted(missing.items()))
