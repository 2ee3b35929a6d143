"""Models that are split into several files, named …-00001-of-00003.gguf: which files belong together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf", re.IGNORECASE)
MOST_PARTS = 512


@dataclass(frozen=True, slots=True)
class Group:
    """The files of one model, the first part first; `missing` are the numbers of parts that are not there."""

    files: tuple[Path, ...]
    missing: tuple[int, ...] = ()


def part_names(name: str) -> tuple[str, ...]:
    """The names of all parts of the model that the file called `name` is a part of; `name` alone if it is none."""
    found = PART.fullmatch(name)
    if not found or not 1 <= int(found[2]) <= int(found[3]) <= MOST_PARTS:
        return (name,)
    ending = name[-5:]
    return tuple(f"{found[1]}-{number:05}-of-{found[3]}{ending}" for number in range(1, int(found[3]) + 1))


def grouped(files: Iterable[Path]) -> Iterator[Group]:
    """Groups in the order of their first file; a file that is no part is a group of its own."""
    here = list(files)
    present = set(here)
    done: set[Path] = set()
    for path in here:
        if path in done:
            continue
        parts = [path.with_name(name) for name in part_names(path.name)]
        there = [part for part in parts if part in present]
        done.update(there)
        missing = tuple(number for number, part in enumerate(parts, 1) if part not in present)
        yield Group(tuple(there), missing)
