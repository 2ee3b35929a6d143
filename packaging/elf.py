"""What a Linux program file asks of the system: libraries and the age of glibc, as binutils' objdump reads them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

MAGIC = b"\x7fELF"


@cache
def headers(path: Path) -> str:
    return subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout


def has_debug_symbols(path: Path) -> bool:
    sections = subprocess.run(["objdump", "-h", path], capture_output=True, text=True, check=True).stdout
    return " .debug_info " in sections


def needed(path: Path) -> list[str]:
    """The libraries it links to itself, by name."""
    return re.findall(r"^\s+NEEDED\s+(\S+)", headers(path), re.M)


def glibc(path: Path) -> tuple[int, ...]:
    """The oldest glibc with all that it uses, (2, 17) for example; () if it uses none."""
    versions = re.findall(r"^\s+0x\w+ 0x\w+ \d+ GLIBC_([\d.]+)$", headers(path), re.M)
    return max((numbers(version) for version in versions), default=())


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def programs(folder: Path) -> Iterator[Path]:
    """All programs and libraries below, each once."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(4) == MAGIC:
                    yield path


def outside(files: Iterable[Path], folder: Path) -> dict[str, list[str]]:
    """Libraries that do not lie in the folder, and who needs them."""
    inside = {path.name for path in folder.rglob("*.so*")}
    missing: dict[str, list[str]] = {}
    for path in files:
        for name in needed(path):
            if name not in inside:
                missing.setdefault(name, []).append(path.name)
    return dict(sorted(missing.items()))
