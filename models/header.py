"""A GGUF file's header: facts about a model without loading it. The file is hostile input; nothing in it is trusted.

Written by hand because the `gguf` package's reader builds a numpy view for every token of the vocabulary: 3.2 s for the
49 k tokens of SmolLM2, where skipping over them takes 20 ms. Format: ggml's docs/gguf.md. What llama.cpp would refuse
or abort on (ggml/src/gguf.cpp) is refused here, before it sees the file.

The header is read piece by piece, not mapped: a mapped file that another program cuts short ends the process (SIGBUS).
"""

from __future__ import annotations

import math
import os
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from common.byte_sizes import show_bytes
from common.failures import Failure
from common.files import NotAFile, open_file, read_up_to
from common.paths import shown
from models.tensors import MOST_WEIGHTS, Misplaced, TensorInfo, data_end, data_most

Scalar = int | float | bool | str
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
U32, STRING, ARRAY = 4, 8, 9
ARRAY_HEAD = 12  # bytes before an array's values: their type and their number
PIECE = 1 << 20  # bytes read at once
ALIGNMENT = "general.alignment"

# Limits. Together they bound what any header costs: 64 MiB read, some 200 MB of memory, about two seconds.
MAX_HEADER = 64 << 20  # bytes; 262 k tokens with 514 k merges take 16 MB (Gemma 3), a whole tokenizer.json 33 MB more
MAX_KEYS = 4096  # models have 20 to 60
MOST_BEHIND = 64 << 20  # bytes behind the last tensor: libraries map the whole file into memory, page by page
MAX_TENSORS = 65_536  # 61 layers of 256 experts with three matrices each, stored apart, are 46,848
MAX_ENTRIES = 1 << 20  # of an array: twice the merges of the largest vocabulary
MAX_KEY = 65_535  # bytes, says the format
MAX_NAME = 63  # bytes of a tensor's name: GGML_MAX_NAME with its zero
MAX_DIMS = 4  # GGML_MAX_DIMS
MAX_ALIGNMENT = 1 << 16  # bytes; usual are 32, and at most a page, 64 KiB on some processors
KEPT_ENTRIES = 4096  # arrays with a value per layer are kept, vocabularies are not
KEPT_STRING = 1 << 20  # bytes; chat templates have some 20 KB
READ = ("general.", "tokenizer.chat_template", "tokenizer.ggml.")  # begin the keys of texts that we read
KEPT = 8 << 20  # bytes in the file of all that is kept: keys, values, tensors' names


@dataclass(frozen=True, slots=True)
class Header:
    """All scalar metadata of the file, except for texts that are longer than any we read; of arrays the lengths, and
    the values of short ones of numbers. In bytes from the file's beginning: `places` of the values of arrays and
    numbers, `metadata_end`, and `data_offset`."""

    path: Path
    file_bytes: int
    version: int
    metadata: dict[str, Scalar]
    array_lengths: dict[str, int]
    tensors: tuple[TensorInfo, ...]
    data_offset: int
    arrays: dict[str, tuple[int | float, ...]] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    metadata_end: int = 0

    @property
    def architecture(self) -> str:
        return str(self.metadata.get("general.architecture", ""))

    @property
    def name(self) -> str:
        return str(self.metadata.get("general.name") or self.path.stem)

    @property
    def n_ctx_train(self) -> int:
        """Context length in tokens the model was trained for, 0 if the file does not say."""
        value = self.metadata.get(f"{self.architecture}.context_length", 0)
        return value if isinstance(value, int) else 0

    @property
    def parameters(self) -> int:
        return sum(math.prod(tensor.shape) for tensor in self.tensors)


class _Damaged(Exception):
    """The bytes do not follow the format; the text says where."""


class _TooLarge(Exception):
    """The bytes may follow the format, but no model has so much; the text says of what."""


def read_header(path: Path) -> Header:
    """The header of the GGUF file at `path`; raises Failure with the sentence for the user if there is none."""
    path = Path(path)
    name = shown(path)
    try:
        with open_file(path) as file:
            if read_up_to(file, 4) != b"GGUF":
                raise Failure("not_a_model.other_file", name=name)
            return _Cursor(file).header(path)
    except OSError as error:
        raise unopened(path, error) from error
    except _TooLarge as error:
        raise Failure("bad_model.large_header", str(error), name=name) from error
    except (_Damaged, Misplaced) as error:
        raise Failure("bad_model.header", str(error), name=name) from error


def unopened(path: Path, error: OSError) -> Failure:
    """Why a model file cannot be opened or read, in a sentence."""
    name, whole = shown(path), shown(str(path))
    if isinstance(error, IsADirectoryError):
        return Failure("not_a_model.folder", path=whole)
    if isinstance(error, NotAFile):
        return Failure("not_a_model.no_file", path=whole)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Failure("no_such_file.model", str(error.strerror), path=whole)
    return Failure("unreadable.file", name=name, reason=error.strerror)


class _Cursor:
    """Reads one value after the other; what the file does not hold raises _Damaged, what no model has _TooLarge."""

    def __init__(self, file: BinaryIO) -> None:
        """`file` stands behind its first four bytes."""
        self.file = file
        self.file_bytes = os.fstat(file.fileno()).st_size
        self.data = bytearray(4)
        self.at = 4
        self.kept = 0

    def header(self, path: Path) -> Header:
        version = self.scalar("I")
        if version not in (2, 3):
            raise Failure("bad_model.version", name=shown(path), version=version)
        n_tensors, n_keys = self.scalar("Q"), self.scalar("Q")
        self.allow(n_keys, 13, MAX_KEYS, "{} entries")
        self.allow(n_tensors, 24, MAX_TENSORS, "{} tensors")
        metadata: dict[str, Scalar] = {}
        lengths: dict[str, int] = {}
        arrays: dict[str, tuple[int | float, ...]] = {}
        places: dict[str, int] = {}
        alignment = 32
        for _ in range(n_keys):
            key = self.text(MAX_KEY)
            if not key or key in metadata or key in lengths:
                raise _Damaged(f"the key {key!r:.80} twice, or none, before {self.at}")
            type_id = self.scalar("I")
            if type_id == ARRAY:
                places[key] = self.at + ARRAY_HEAD
                lengths[key], values = self.array()
                if values:
                    arrays[key] = values
            elif type_id == STRING:
                metadata[key] = self.value(key)
            else:
                places[key] = self.at
                metadata[key] = self.scalar(_format(type_id))
            if key == ALIGNMENT:
                alignment = _alignment(type_id, metadata.get(key))
        end = self.at
        tensors = tuple(self.tensor() for _ in range(n_tensors))
        data_offset = -(-self.at // alignment) * alignment
        if tensors and data_offset + data_end(tensors, alignment) > self.file_bytes:
            raise Failure(
                "bad_model.incomplete", f"{self.file_bytes} bytes, a tensor ends behind them", name=shown(path)
            )
        behind = self.file_bytes - data_offset - data_most(tensors)
        if tensors and behind > MOST_BEHIND:
            raise Failure("bad_model.long", f"{behind} bytes behind the last tensor", name=shown(path))
        return Header(path, self.file_bytes, version, metadata, lengths, tensors, data_offset, arrays, places, end)

    def allow(self, count: int, size: int, most: int, what: str) -> None:
        """Raises _Damaged where the file has no room for `count` things of `size` bytes, _TooLarge beyond `most`."""
        if count * size > self.file_bytes:
            raise _Damaged(f"{what.format(count)} of {size} bytes at {self.at}")
        if count > most:
            raise _TooLarge(what.format(f"{count:,}"))

    def need(self, count: int) -> None:
        """Have so many bytes from here on."""
        missing = self.at + count - len(self.data)
        if missing <= 0:
            return
        if self.at + count > self.file_bytes:
            raise _Damaged(f"the file ends before {self.at + count}")
        if self.at + count > MAX_HEADER:
            raise _TooLarge(f"over {show_bytes(MAX_HEADER)}")
        piece = read_up_to(self.file, max(missing, PIECE))
        if len(piece) < missing:
            raise _Damaged(f"the file was cut before {self.at + count}")
        self.data += piece

    def scalar(self, format: str) -> int:
        value: int
        size = struct.calcsize("<" + format)
        self.need(size)
        (value,) = struct.unpack_from("<" + format, self.data, self.at)
        self.at += size
        return value

    def text(self, most: int) -> str:
        """One that is kept."""
        length = self.scalar("Q")
        self.allow(length, 1, most, "a text of {} bytes")
        self.need(length)
        self.keep(length)
        self.at += length
        return self.data[self.at - length : self.at].decode("utf-8", errors="replace")

    def value(self, key: str) -> str:
        """A text; one that is long and nothing that we read, like a whole tokenizer.json, is passed over."""
        length, self.at = self.scalar("Q"), self.at - 8
        if length <= KEPT_STRING or key.startswith(READ):
            return self.text(KEPT_STRING)
        self.at += 8
        self.need(length)
        self.at += length
        return ""

    def keep(self, count: int) -> None:
        self.kept += count
        if self.kept > KEPT:
            raise _TooLarge(f"over {show_bytes(KEPT)} beside its vocabulary")

    def array(self) -> tuple[int, tuple[int | float, ...]]:
        """Length, and the values if they are few numbers."""
        type_id, length = self.scalar("I"), self.scalar("Q")
        size = 8 if type_id == STRING else struct.calcsize("<" + _format(type_id))
        self.allow(length, size, MAX_ENTRIES, "a list of {} values")
        if type_id == STRING:
            self.pass_strings(length)
            return length, ()
        start = self.at
        self.need(length * size)
        self.at += length * size
        if length > KEPT_ENTRIES:
            return length, ()
        self.keep(length * size)
        return length, struct.unpack_from(f"<{length}{_format(type_id)}", self.data, start)

    def pass_strings(self, count: int) -> None:
        unpack, data, at, end = struct.Struct("<Q").unpack_from, self.data, self.at, len(self.data)
        for _ in range(count):
            if at + 8 > end:
                self.at = at
                self.need(8)
                end = len(data)
            at += 8 + unpack(data, at)[0]
        self.at = at
        self.need(0)

    def tensor(self) -> TensorInfo:
        name = self.text(MAX_NAME)
        n_dims = self.scalar("I")
        if n_dims > MAX_DIMS:
            raise _Damaged(f"tensor {name!r} has {n_dims} dimensions")
        shape = tuple(self.scalar("Q") for _ in range(n_dims))
        if 0 in shape or math.prod(shape) > MOST_WEIGHTS:
            raise _Damaged(f"tensor {name!r} has the shape {shape}")
        return TensorInfo(name, self.scalar("I"), shape, self.scalar("Q"))


def _format(type_id: int) -> str:
    if type_id not in SCALARS:
        raise _Damaged(f"value type {type_id}")
    return SCALARS[type_id]


def _alignment(type_id: int, value: object) -> int:
    """Raises _Damaged for what the format forbids, and for what would make the place of the weights a riddle."""
    if type_id != U32 or not isinstance(value, int) or value.bit_count() != 1 or not 8 <= value <= MAX_ALIGNMENT:
        raise _Damaged(f"alignment {value!r}")
    return value
