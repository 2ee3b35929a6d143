"""The tensors of a model file: what its header says of each, their sizes, and whether the file holds them all."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

MOST_WEIGHTS = (1 << 63) - 1  # weights and bytes: ggml counts them in 64 bits with a sign


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Name, ggml type number, shape (fastest dimension first) and offset in bytes into the data section."""

    name: str
    type: int
    shape: tuple[int, ...]
    offset: int


class Misplaced(Exception):
    """The tensors cannot lie as the header says, in a file of any size; the text says which."""


def tensor_bytes(tensor: TensorInfo) -> int:
    """Bytes of a tensor's data; of a type newer than the `gguf` package as if it were of one byte per weight."""
    block, size = quant_sizes().get(tensor.type, (1, 1))
    return math.prod(tensor.shape) // block * size


def data_end(tensors: Iterable[TensorInfo], alignment: int) -> int:
    """Bytes that the data section has at the least. Raises Misplaced for tensors that llama.cpp refuses too."""
    names: set[str] = set()
    end = weights = taken = 0
    for tensor in tensors:
        known = quant_sizes().get(tensor.type)
        if tensor.name in names:
            raise Misplaced(f"two tensors {tensor.name!r}")
        if tensor.offset % alignment:
            raise Misplaced(f"tensor {tensor.name!r} at {tensor.offset}, the alignment is {alignment}")
        if known and tensor.shape and tensor.shape[0] % known[0]:
            raise Misplaced(f"tensor {tensor.name!r} with rows of {tensor.shape[0]}, in blocks of {known[0]}")
        size = tensor_bytes(tensor) if known else 1
        names.add(tensor.name)
        weights += math.prod(tensor.shape)
        taken += size
        end = max(end, tensor.offset + size)
    if weights > MOST_WEIGHTS or end > MOST_WEIGHTS:
        raise Misplaced(f"{weights} weights that end at {end}")
    if taken > end:
        raise Misplaced(f"tensors of {taken} bytes within {end}: they lie on each other")
    return end


def data_most(tensors: Iterable[TensorInfo]) -> int:
    """Bytes that the data section has at the most, blanks behind it aside."""
    sizes = quant_sizes()
    return max((tensor.offset + most_bytes(tensor, tensor.type in sizes) for tensor in tensors), default=0)


def most_bytes(tensor: TensorInfo, known: bool) -> int:
    """Bytes of a tensor's data; eight for each weight of a type that is not known, for there are none with more."""
    return tensor_bytes(tensor) if known else 8 * math.prod(tensor.shape)


_sizes: dict[int, tuple[int, int]] = {}


def quant_sizes() -> dict[int, tuple[int, int]]:
    """Of each ggml type: weights in a block, bytes of a block."""
    if not _sizes:
        from gguf import GGML_QUANT_SIZES  # 0.1 s, and only this needs it

        _sizes.update({int(type): size for type, size in GGML_QUANT_SIZES.items()})
    return _sizes
