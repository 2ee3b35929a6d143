"""Header of a GGUF file: facts about a model without loading it. The file is hostile input; nothing in it is trusted.

Written by hand because the `gguf` package's reader builds a numpy view for every token of the vocabulary: 3.2 s for the
49 k tokens of SmolLM2, where skipping over them takes 20 ms. Format: ggml's docs/gguf.md. What llama.cpp would refuse
or abort on (ggml/src/gguf.cpp) is refused here, before llama.cpp sees the file.

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
from common.paths import display_name
from models.names import model_name
from models.tensors import MOST_WEIGHTS, MisplacedTensors, TensorInfo, least_data_bytes, most_data_bytes

Scalar = int | float | bool | str
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
U32, STRING, ARRAY = 4, 8, 9
MAGIC = b"GGUF"
ARRAY_HEAD = 12  # bytes of an array before its values: type and length
PIECE = 1 << 20  # bytes read at once
ALIGNMENT, PARTS = "general.alignment", "split.count"

# Limits. Together they bound what any header costs: 64 MiB read, some 200 MB of memory, about two seconds.
MAX_HEADER = 64 << 20  # bytes; 262 k tokens with 514 k merges take 16 MB (Gemma 3), a whole tokenizer.json 33 MB more
MAX_KEYS = 4096  # models have 20 to 60
MAX_TRAILING = 64 << 20  # bytes behind the last tensor: libraries map the whole file into memory, page by page
MAX_TENSORS = 65_536  # 61 layers of 256 experts with three matrices each, stored apart, are 46,848
MAX_ENTRIES = 1 << 20  # of one array: twice the merges of the largest vocabulary
MAX_KEY = 65_535  # bytes, as the format limits it
MAX_NAME = 63  # bytes of a tensor's name: GGML_MAX_NAME without the final zero
MAX_DIMS = 4  # GGML_MAX_DIMS
MAX_ALIGNMENT = 1 << 16  # bytes; usual are 32, and at most a page, 64 KiB on some processors
KEPT_ENTRIES = 4096  # arrays with a value per layer are kept, vocabularies are not
KEPT_STRING = 1 << 20  # bytes; chat templates have some 20 KB
READ_TEXTS = ("general.", "tokenizer.chat_template", "tokenizer.ggml.")  # beginnings of the keys whose texts we use
MAX_KEPT = 8 << 20  # bytes of everything that is kept in memory: keys, values, tensors' names


@dataclass(frozen=True, slots=True)
class Header:
    """Content of a GGUF header.

    Attributes:
        metadata: scalar values by key; texts that are too long and that we never read are empty.
        array_lengths: lengths of arrays by key.
        arrays: values of arrays of at most KEPT_ENTRIES numbers.
        value_offsets: position of the values of arrays and numbers, in bytes from the file's beginning.
        metadata_end, data_offset: end of the metadata and begin of the weights, in bytes from the file's beginning.
    """

    path: Path
    file_bytes: int
    version: int
    metadata: dict[str, Scalar]
    array_lengths: dict[str, int]
    tensors: tuple[TensorInfo, ...]
    data_offset: int
    arrays: dict[str, tuple[int | float, ...]] = field(default_factory=dict)
    value_offsets: dict[str, int] = field(default_factory=dict)
    metadata_end: int = 0

    @property
    def architecture(self) -> str:
        return str(self.metadata.get("general.architecture", ""))

    @property
    def name(self) -> str:
        return str(self.metadata.get("general.name") or self.path.stem)

    @property
    def file_name(self) -> str:
        """Name of the file for sentences."""
        return model_name(self.path)

    @property
    def n_ctx_train(self) -> int:
        """Context length in tokens that the model was trained for; 0 if the file does not say."""
        value = self.metadata.get(f"{self.architecture}.context_length", 0)
        return value if isinstance(value, int) else 0

    @property
    def parameters(self) -> int:
        return sum(math.prod(tensor.shape) for tensor in self.tensors)


class _Damaged(Exception):
    """Bytes that do not follow the format; the text says where."""


class _TooLarge(Exception):
    """Counts or sizes that no model has, although the format allows them; the text says which."""


def read_header(path: Path) -> Header:
    """Read the header of the GGUF file at `path`. Raises Failure with the sentence for the user."""
    path = Path(path)
    name = model_name(path)
    try:
        with open_file(path) as file:
            if read_up_to(file, len(MAGIC)) != MAGIC:
                raise Failure("not_a_model.other_file", name=name)
            return _Cursor(file).header(path)
    except OSError as error:
        raise open_failure(path, error) from error
    except _TooLarge as error:
        raise Failure("bad_model.large_header", str(error), name=name) from error
    except (_Damaged, MisplacedTensors) as error:
        raise Failure("bad_model.header", str(error), name=name) from error


def open_failure(path: Path, error: OSError) -> Failure:
    """Return the failure that says why a model file cannot be opened or read."""
    name, whole = model_name(path), display_name(str(path))
    if isinstance(error, IsADirectoryError):
        return Failure("not_a_model.folder", path=whole)
    if isinstance(error, NotAFile):
        return Failure("not_a_model.no_file", path=whole)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Failure("no_such_file.model", str(error.strerror), path=whole)
    return Failure("unreadable.file", name=name, reason=error.strerror)


class _Cursor:
    """Reader of one value after the other; raises _Damaged beyond the file's end, _TooLarge beyond our limits."""

    def __init__(self, file: BinaryIO) -> None:
        """Start reading a `file` of which the first four bytes were read."""
        self.file = file
        self.file_bytes = os.fstat(file.fileno()).st_size
        self.data = bytearray(4)
        self.at = 4
        self.kept = 0

    def header(self, path: Path) -> Header:
        version = self.scalar("I")
        if version not in (2, 3):
            raise Failure("bad_model.version", name=model_name(path), version=version)
        n_tensors, n_keys = self.scalar("Q"), self.scalar("Q")
        self.check_count(n_keys, 13, MAX_KEYS, "{} entries")
        self.check_count(n_tensors, 24, MAX_TENSORS, "{} tensors")
        metadata: dict[str, Scalar] = {}
        lengths: dict[str, int] = {}
        arrays: dict[str, tuple[int | float, ...]] = {}
        value_offsets: dict[str, int] = {}
        alignment = 32
        for _ in range(n_keys):
            key = self.text(MAX_KEY)
            if not key or key in metadata or key in lengths:
                raise _Damaged(f"the key {key!r:.80} twice, or none, before {self.at}")
            type_id = self.scalar("I")
            if type_id == ARRAY:
                value_offsets[key] = self.at + ARRAY_HEAD
                lengths[key], values = self.array()
                if values:
                    arrays[key] = values
            elif type_id == STRING:
                metadata[key] = self.text_or_skip(key)
            else:
                value_offsets[key] = self.at
                metadata[key] = self.scalar(_format(type_id))
            if key == ALIGNMENT:
                alignment = _alignment(type_id, metadata.get(key))
        end = self.at
        tensors = tuple(self.tensor() for _ in range(n_tensors))
        data_offset = -(-self.at // alignment) * alignment
        if tensors and data_offset + least_data_bytes(tensors, alignment) > self.file_bytes:
            raise Failure(
                "bad_model.incomplete", f"{self.file_bytes} bytes, a tensor ends behind them", name=model_name(path)
            )
        data_end = data_offset + most_data_bytes(tensors)
        if metadata.get(PARTS, 1) != 1 and self.has_model_at(-(-data_end // alignment) * alignment):
            raise Failure("bad_model.joined", name=model_name(path), count=metadata[PARTS])
        trailing = self.file_bytes - data_end
        if tensors and trailing > MAX_TRAILING:
            raise Failure("bad_model.long", f"{trailing} bytes behind the last tensor", name=model_name(path))
        return Header(
            path, self.file_bytes, version, metadata, lengths, tensors, data_offset, arrays, value_offsets, end
        )

    def has_model_at(self, offset: int) -> bool:
        """Return whether another model file begins at this offset."""
        self.file.seek(offset)
        return read_up_to(self.file, len(MAGIC)) == MAGIC

    def check_count(self, count: int, size: int, most: int, what: str) -> None:
        """Check a count that the file states, before anything of that size is read.

        Raises _Damaged if the file has no room for `count` things of `size` bytes, _TooLarge beyond `most`.
        """
        if count * size > self.file_bytes:
            raise _Damaged(f"{what.format(count)} of {size} bytes at {self.at}")
        if count > most:
            raise _TooLarge(what.format(f"{count:,}"))

    def fill(self, count: int) -> None:
        """Read on until `data` holds `count` bytes from the present position. Raises _Damaged and _TooLarge."""
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
        self.fill(size)
        (value,) = struct.unpack_from("<" + format, self.data, self.at)
        self.at += size
        return value

    def text(self, most: int) -> str:
        """Read a text of at most `most` bytes, and count it as kept."""
        length = self.scalar("Q")
        self.check_count(length, 1, most, "a text of {} bytes")
        self.fill(length)
        self.count_kept(length)
        self.at += length
        return self.data[self.at - length : self.at].decode("utf-8", errors="replace")

    def text_or_skip(self, key: str) -> str:
        """Read the text under `key`; skip a long one that we never use, like a whole tokenizer.json, and return ''."""
        length, self.at = self.scalar("Q"), self.at - 8
        if length <= KEPT_STRING or key.startswith(READ_TEXTS):
            return self.text(KEPT_STRING)
        self.at += 8
        self.fill(length)
        self.at += length
        return ""

    def count_kept(self, count: int) -> None:
        self.kept += count
        if self.kept > MAX_KEPT:
            raise _TooLarge(f"over {show_bytes(MAX_KEPT)} beside its vocabulary")

    def array(self) -> tuple[int, tuple[int | float, ...]]:
        """Return an array's length, and its values if they are at most KEPT_ENTRIES numbers."""
        type_id, length = self.scalar("I"), self.scalar("Q")
        size = 8 if type_id == STRING else struct.calcsize("<" + _format(type_id))
        self.check_count(length, size, MAX_ENTRIES, "a list of {} values")
        if type_id == STRING:
            self.skip_strings(length)
            return length, ()
        start = self.at
        self.fill(length * size)
        self.at += length * size
        if length > KEPT_ENTRIES:
            return length, ()
        self.count_kept(length * size)
        return length, struct.unpack_from(f"<{length}{_format(type_id)}", self.data, start)

    def skip_strings(self, count: int) -> None:
        unpack, data, at, end = struct.Struct("<Q").unpack_from, self.data, self.at, len(self.data)
        for _ in range(count):
            if at + 8 > end:
                self.at = at
                self.fill(8)
                end = len(data)
            at += 8 + unpack(data, at)[0]
        self.at = at
        self.fill(0)

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
    """Return the alignment; raise _Damaged for a forbidden one.

    The format forbids some; we also refuse those that would leave the position of the weights unclear.
    """
    if type_id != U32 or not isinstance(value, int) or value.bit_count() != 1 or not 8 <= value <= MAX_ALIGNMENT:
        raise _Damaged(f"alignment {value!r}")
    return value
