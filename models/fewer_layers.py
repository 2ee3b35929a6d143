"""Writes a copy of a model with fewer layers: passes are timed with it if memory cannot hold the model twice."""

from __future__ import annotations

import errno
import re
import struct
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from common.files import PIECE, open_file, read_up_to
from models.header import ALIGNMENT, Header
from models.tensor_types import TENSOR_TYPES
from models.tensors import TensorInfo, tensor_bytes

LAYER = re.compile(r"blk\.(\d+)\.(.+)", re.DOTALL)
N_TENSORS_AT = 8  # offset of the number of tensors in the file, after magic and version


def selectable_layers(header: Header) -> int:
    """Return the number of layers; 0 for a model that cannot be shortened.

    Not shortened are models with metadata lists of one value per layer, unknown tensor types or several files.
    """
    count = header.metadata.get(_count_key(header), 0)
    prefix = f"{header.architecture}."
    has_lists = any(key.startswith(prefix) and length == count for key, length in header.array_lengths.items())
    is_known = all(tensor.type in TENSOR_TYPES for tensor in header.tensors)
    is_whole = header.metadata.get("split.count", 1) == 1
    return int(count) if isinstance(count, int) and is_known and is_whole and not has_lists else 0


def write_with_fewer_layers(header: Header, layers: int, path: Path) -> None:
    """Write a copy of the model with `layers` layers to `path`, chosen evenly from the first to the last.

    They are spread evenly because files of mixed types store some layers more precisely than others. Raises OSError,
    also if the model's file has changed since its header was read.
    """
    chosen = _evenly(layers, selectable_layers(header))
    kept = [(tensor, name) for tensor in header.tensors if (name := _new_name(tensor.name, chosen))]
    alignment = int(header.metadata.get(ALIGNMENT, 32))
    with open_file(header.path) as source, path.open("xb") as file:
        head, at = bytearray(read_up_to(source, header.metadata_end)), header.value_offsets[_count_key(header)]
        if struct.unpack_from("<I", head, at) != (selectable_layers(header),):  # another type, or the file has changed
            raise OSError(errno.EIO, "The model's file cannot be shortened")
        struct.pack_into("<Q", head, N_TENSORS_AT, len(kept))
        struct.pack_into("<I", head, at, layers)
        file.write(head)
        offset = 0
        for tensor, name in kept:
            file.write(_described(replace(tensor, name=name, offset=offset)))
            offset += _up_to(tensor_bytes(tensor), alignment)
        for tensor, _ in kept:
            file.write(bytes(_up_to(file.tell(), alignment) - file.tell()))
            source.seek(header.data_offset + tensor.offset)
            _copy(source, file, tensor_bytes(tensor))
        file.write(bytes(_up_to(file.tell(), alignment) - file.tell()))


def _count_key(header: Header) -> str:
    return f"{header.architecture}.block_count"


def _evenly(count: int, of: int) -> dict[int, int]:
    """Return the chosen layers, spread evenly: old number → new number."""
    if not 2 <= count <= of:
        raise ValueError(f"{count} of {of} layers")
    return {round(i * (of - 1) / (count - 1)): i for i in range(count)}


def _new_name(name: str, chosen: dict[int, int]) -> str | None:
    """Return a tensor's name in the copy; None if its layer is not copied."""
    match = LAYER.fullmatch(name)
    if match is None:
        return name
    new = chosen.get(int(match[1]))
    return None if new is None else f"blk.{new}.{match[2]}"


def _described(tensor: TensorInfo) -> bytes:
    name = tensor.name.encode()
    dims = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
    return struct.pack("<Q", len(name)) + name + dims + struct.pack("<IQ", tensor.type, tensor.offset)


def _up_to(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _copy(source: BinaryIO, file: BinaryIO, count: int) -> None:
    while count:
        piece = source.read(min(count, PIECE))
        if not piece:
            raise OSError(errno.EIO, "The model's file became shorter")
        file.write(piece)
        count -= len(piece)
