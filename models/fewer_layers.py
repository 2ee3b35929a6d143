"""A copy of a model's file with some of its layers: where there is no room for the model twice, passes of it are timed
with such a copy.
"""

from __future__ import annotations

import errno
import re
import struct
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from common.files import PIECE, open_file, read_up_to
from models.header import ALIGNMENT, Header
from models.tensors import TensorInfo, quant_sizes, tensor_bytes

LAYER = re.compile(r"blk\.(\d+)\.(.+)", re.DOTALL)
N_TENSORS_AT = 8  # bytes from the file's beginning, behind its name and version


def layers_of(header: Header) -> int:
    """How many layers there are to choose from; 0 where the file says of each what would have to be shortened too."""
    count = header.metadata.get(_count_key(header), 0)
    prefix = f"{header.architecture}."
    has_lists = any(key.startswith(prefix) and length == count for key, length in header.array_lengths.items())
    is_known = all(tensor.type in quant_sizes() for tensor in header.tensors)
    is_whole = header.metadata.get("split.count", 1) == 1
    return int(count) if isinstance(count, int) and is_known and is_whole and not has_lists else 0


def write_shortened(header: Header, layers: int, path: Path) -> None:
    """Write a model of so many of `layers_of` to `path`, evenly from the first to the last one: files of mixed types
    have better weights in some layers than in others. Raises OSError, also where the model's file changed."""
    chosen = _evenly(layers, layers_of(header))
    kept = [(tensor, name) for tensor in header.tensors if (name := _new_name(tensor.name, chosen))]
    alignment = int(header.metadata.get(ALIGNMENT, 32))
    with open_file(header.path) as source, path.open("xb") as file:
        head, at = bytearray(read_up_to(source, header.metadata_end)), header.places[_count_key(header)]
        if struct.unpack_from("<I", head, at) != (layers_of(header),):  # of another type, or no longer what was read
            raise OSError(errno.EIO, "The model's file cannot be shortened")
        struct.pack_into("<Q", head, N_TENSORS_AT, len(kept))
        struct.pack_into("<I", head, at, layers)
        file.write(head)
        place = 0
        for tensor, name in kept:
            file.write(_described(replace(tensor, name=name, offset=place)))
            place += _up_to(tensor_bytes(tensor), alignment)
        for tensor, _ in kept:
            file.write(bytes(_up_to(file.tell(), alignment) - file.tell()))
            source.seek(header.data_offset + tensor.offset)
            _copy(source, file, tensor_bytes(tensor))
        file.write(bytes(_up_to(file.tell(), alignment) - file.tell()))


def _count_key(header: Header) -> str:
    return f"{header.architecture}.block_count"


def _evenly(count: int, of: int) -> dict[int, int]:
    """Old number → new number."""
    if not 2 <= count <= of:
        raise ValueError(f"{count} of {of} layers")
    return {round(i * (of - 1) / (count - 1)): i for i in range(count)}


def _new_name(name: str, chosen: dict[int, int]) -> str | None:
    """None for what is of another layer."""
    found = LAYER.fullmatch(name)
    if found is None:
        return name
    new = chosen.get(int(found[1]))
    return None if new is None else f"blk.{new}.{found[2]}"


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
