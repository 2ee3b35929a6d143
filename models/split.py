"""Models that are split into several files, named …-00001-of-00003.gguf: finds the files that belong together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from common.failures import Failure
from common.paths import display_name
from models.header import MAX_HEADER, MAX_TENSORS, PARTS, Header, read_header
from models.names import model_name
from models.ollama import is_blob

PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf", re.IGNORECASE)
MOST_PARTS = 512


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files of one model in order; `missing` are the numbers of parts that do not exist."""

    files: tuple[Path, ...]
    missing: tuple[int, ...] = ()


def part_names(name: str) -> tuple[str, ...]:
    """Return the file names of all parts of the model that `name` is a part of; only `name` if it is no part."""
    match = PART.fullmatch(name)
    if not match or not 1 <= int(match[2]) <= int(match[3]) <= MOST_PARTS:
        return (name,)
    ending = name[-5:]
    return tuple(f"{match[1]}-{number:05}-of-{match[3]}{ending}" for number in range(1, int(match[3]) + 1))


def other_parts(header: Header) -> list[Header]:
    """Read the headers of the files that follow a split model's first one.

    Raises Failure if one cannot be read: a library opens these files by itself, and would wait for ever for a pipe of
    such a name.
    """
    if _count(header) < 2:
        return []
    check_split(header)
    first, *others = part_names(header.path.name)
    if header.path.name != first:
        raise Failure("bad_model.not_first", name=header.file_name, first=display_name(first))
    return read_parts(header.path.with_name(name) for name in others)


def check_split(header: Header) -> None:
    """Raise Failure if the header is of a split model whose parts cannot be found by this file's name."""
    count = _count(header)
    if count > 1 and len(part_names(header.path.name)) != count:
        reason = "bad_model.split_blobs" if is_blob(header.path) else "bad_model.split_names"
        raise Failure(reason, name=header.file_name, count=count)


def _count(header: Header) -> int:
    """Return the number of the model's files, as the header states it; 1 if it states none."""
    count = header.metadata.get(PARTS, 1)
    return count if isinstance(count, int) else 1


def model_headers(file: Path | tuple[Header, ...]) -> tuple[Header, ...]:
    """Read the headers of all files of the model whose first file is `file`; return headers that were read already.

    Raises Failure for what `read_header` and `other_parts` refuse.
    """
    if isinstance(file, tuple):
        return file
    header = read_header(file)
    return (header, *other_parts(header))


def whole_header(headers: Sequence[Header]) -> Header:
    """Return the first file's header with the tensors and the bytes of all files, to compute sizes from.

    The offsets of the tensors are those in their own files.
    """
    first, *others = headers
    if not others:
        return first
    tensors = tuple(tensor for header in headers for tensor in header.tensors)
    return replace(first, tensors=tensors, file_bytes=sum(header.file_bytes for header in headers))


def read_parts(files: Iterable[Path]) -> list[Header]:
    """Read the headers of one model's files; all but the first lose their metadata.

    Raises Failure for what `read_header` refuses, and if the headers together are larger than any model's.
    """
    headers: list[Header] = []
    size = tensors = 0
    for path in files:
        header = read_header(path)
        size, tensors = size + header.data_offset, tensors + len(header.tensors)
        if size > 2 * MAX_HEADER or tensors > MAX_TENSORS:
            raise Failure("bad_model.large_header", f"{size} bytes, {tensors} tensors", name=model_name(path))
        headers.append(
            replace(header, metadata={}, array_lengths={}, arrays={}, value_offsets={}) if headers else header
        )
    return headers


def group_files(files: Iterable[Path]) -> Iterator[FileGroup]:
    """Yield groups of files in the order of their first file; a file that is no part is a group of its own."""
    listed = list(files)
    present = set(listed)
    done: set[Path] = set()
    for path in listed:
        if path in done:
            continue
        parts = [path.with_name(name) for name in part_names(path.name)]
        present_parts = [part for part in parts if part in present]
        done.update(present_parts)
        missing = tuple(number for number, part in enumerate(parts, 1) if part not in present)
        yield FileGroup(tuple(present_parts), missing)
