"""Models that are split into several files, named …-00001-of-00003.gguf: which files belong together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from common.failures import Failure
from common.paths import shown
from models.header import MAX_HEADER, MAX_TENSORS, Header, read_header

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


def other_parts(header: Header) -> list[Header]:
    """The headers of the files that belong to a split model's first one. Raises Failure where one cannot be read: a
    library opens them by itself, and would wait for ever for a pipe of such a name."""
    count = header.metadata.get("split.count", 1)
    if not isinstance(count, int) or count < 2:
        return []
    first, *others = part_names(header.path.name)
    if len(others) + 1 != count:
        raise Failure("bad_model.split_names", name=shown(header.path), count=count)
    if header.path.name != first:
        raise Failure("bad_model.not_first", name=shown(header.path), first=shown(first))
    return read_parts(header.path.with_name(name) for name in others)


def model_headers(file: Path | tuple[Header, ...]) -> tuple[Header, ...]:
    """The headers of all files of the model whose first is `file`; `file` itself where they were read already.

    Raises Failure for what `read_header` and `other_parts` refuse."""
    if isinstance(file, tuple):
        return file
    header = read_header(file)
    return (header, *other_parts(header))


def read_parts(files: Iterable[Path]) -> list[Header]:
    """The headers of one model's files, of all but the first without metadata.

    Raises Failure for what `read_header` refuses, and where all together are larger than any model's."""
    headers: list[Header] = []
    size = tensors = 0
    for path in files:
        header = read_header(path)
        size, tensors = size + header.data_offset, tensors + len(header.tensors)
        if size > 2 * MAX_HEADER or tensors > MAX_TENSORS:
            raise Failure("bad_model.large_header", f"{size} bytes, {tensors} tensors", name=shown(path))
        headers.append(replace(header, metadata={}, array_lengths={}, arrays={}, places={}) if headers else header)
    return headers


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
