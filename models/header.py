"""A GGUF file's header: facts about a model without loading it. The file is hostile input; nothing in it is trusted.

Written by hand because the `gguf` package's reader builds a numpy view for every token of the vocabulary: 3.2 s for the
49 k tokens of SmolLM2, where skipping over them takes 20 ms. Format: ggml's docs/gguf.md.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass, field
from pathlib import Path

from models.failures import Failure

Scalar = int | float | bool | str
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
ARRAY_HEAD = 12  # bytes before an array's values: their type and their number
MAX_KEYS, MAX_TENSORS, MAX_STRING = 65_536, 1_048_576, 64 << 20
MAX_KEPT = 4096  # entries: arrays with a value per layer are kept, vocabularies are not


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Name, ggml type number, shape (fastest dimension first) and offset in bytes into the data section."""

    name: str
    type: int
    shape: tuple[int, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Header:
    """All scalar metadata of the file; of arrays the lengths, the values of short ones of numbers, and in bytes the
    places of their values in the file (`array_places`)."""

    path: Path
    file_bytes: int
    version: int
    metadata: dict[str, Scalar]
    array_lengths: dict[str, int]
    tensors: tuple[TensorInfo, ...]
    data_offset: int
    arrays: dict[str, tuple[int | float, ...]] = field(default_factory=dict)
    array_places: dict[str, int] = field(default_factory=dict)

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
        total = 0
        for tensor in self.tensors:
            count = 1
            for size in tensor.shape:
                count *= size
            total += count
        return total


class _Damaged(Exception):
    """The bytes do not follow the format; the text says where."""


def read_header(path: Path) -> Header:
    """The header of the GGUF file at `path`; raises Failure with the sentence for the user if there is none."""
    path = Path(path)
    if path.is_dir():
        raise Failure("not_a_model", f"{path} is a folder. Choose a model file, its name ends in .gguf.")
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise Failure("not_a_model", f"{path.name} is not a GGUF model file. Choose a file that ends in .gguf.")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _Cursor(data).header(path)
    except FileNotFoundError as error:
        raise Failure("no_such_file", f"There is no file {path}. Was it moved or renamed?") from error
    except OSError as error:
        raise Failure("unreadable", f"{path.name} cannot be read: {error.strerror}.") from error
    except (_Damaged, struct.error, UnicodeDecodeError) as error:
        sentence = f"{path.name} is damaged or incomplete: its header cannot be read. Download it again."
        raise Failure("bad_model", sentence, str(error)) from error


class _Cursor:
    """Reads one value after the other; a read beyond the end raises struct.error or _Damaged."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 4

    def header(self, path: Path) -> Header:
        version = self.scalar("I")
        if version not in (2, 3):
            raise Failure("bad_model", f"{path.name} has GGUF version {version}; versions 2 and 3 can be read.")
        n_tensors, n_keys = self.scalar("Q"), self.scalar("Q")
        if n_keys > MAX_KEYS or n_tensors > MAX_TENSORS:
            raise _Damaged(f"{n_keys} keys and {n_tensors} tensors")
        metadata: dict[str, Scalar] = {}
        lengths: dict[str, int] = {}
        arrays: dict[str, tuple[int | float, ...]] = {}
        places: dict[str, int] = {}
        for _ in range(n_keys):
            key = self.string()
            type_id = self.scalar("I")
            if type_id == ARRAY:
                places[key] = self.at + ARRAY_HEAD
                lengths[key], values = self.array()
                if values:
                    arrays[key] = values
            else:
                metadata[key] = self.string() if type_id == STRING else self.scalar(_format(type_id))
        tensors = tuple(self.tensor() for _ in range(n_tensors))
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment < 1:
            raise _Damaged(f"alignment {alignment!r}")
        data_offset = -(-self.at // alignment) * alignment
        size = len(self.data)
        if tensors and data_offset + max(tensor.offset for tensor in tensors) >= size:
            sentence = f"{path.name} is incomplete: part of the model is missing. Download it again."
            raise Failure("bad_model", sentence, f"{size} bytes, a tensor starts behind them")
        return Header(path, size, version, metadata, lengths, tensors, data_offset, arrays, places)

    def scalar(self, format: str) -> int:
        value: int
        (value,) = struct.unpack_from("<" + format, self.data, self.at)
        self.at += struct.calcsize("<" + format)
        return value

    def string(self) -> str:
        length = self.scalar("Q")
        if length > MAX_STRING or self.at + length > len(self.data):
            raise _Damaged(f"a string of {length} bytes at {self.at}")
        raw = self.data[self.at : self.at + length]
        self.at += length
        return raw.decode("utf-8", errors="replace")

    def array(self) -> tuple[int, tuple[int | float, ...]]:
        """Length, and the values if they are few numbers."""
        type_id, length = self.scalar("I"), self.scalar("Q")
        if length > len(self.data):
            raise _Damaged(f"an array of {length} entries at {self.at}")
        if type_id != STRING:
            format, start = f"<{length if length <= MAX_KEPT else 0}{_format(type_id)}", self.at
            self.at += length * struct.calcsize("<" + _format(type_id))
            return length, struct.unpack_from(format, self.data, start)
        unpack, data, at, end = struct.Struct("<Q").unpack_from, self.data, self.at, len(self.data)
        for _ in range(length):
            at += 8 + unpack(data, at)[0]
            if at > end:
                raise _Damaged(f"a string beyond the end at {at}")
        self.at = at
        return length, ()

    def tensor(self) -> TensorInfo:
        name = self.string()
        n_dims = self.scalar("I")
        if n_dims > 4:
            raise _Damaged(f"tensor {name!r} has {n_dims} dimensions")
        shape = tuple(self.scalar("Q") for _ in range(n_dims))
        return TensorInfo(name, self.scalar("I"), shape, self.scalar("Q"))


def _format(type_id: int) -> str:
    if type_id not in SCALARS:
        raise _Damaged(f"value type {type_id}")
    return SCALARS[type_id]
