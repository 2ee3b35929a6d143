"""Tensors of a model file: what its header says of each, their sizes, and a check that the file can hold them all."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from models.tensor_types import TENSOR_TYPES

MOST_WEIGHTS = (1 << 63) - 1  # ggml counts weights and bytes in signed 64-bit integers


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Tensor's name, ggml type number, shape (fastest dimension first) and offset in bytes into the data section."""

    name: str
    type: int
    shape: tuple[int, ...]
    offset: int


class MisplacedTensors(Exception):
    """Tensors whose stated positions are impossible in a file of any size; the text says which."""


def tensor_bytes(tensor: TensorInfo) -> int:
    """Return the bytes of a tensor's data, at one byte per weight for types that the pinned llama.cpp lacks."""
    known, weights = TENSOR_TYPES.get(tensor.type), math.prod(tensor.shape)
    return weights // known.block * known.size if known else weights


def is_expert(tensor: TensorInfo) -> bool:
    """Return whether the tensor holds weights of all experts of a mixture, of which a token uses a few."""
    return "_exps." in tensor.name


def least_data_bytes(tensors: Iterable[TensorInfo], alignment: int) -> int:
    """Return the least size of the data section in bytes. Raises Misplaced for tensors that llama.cpp refuses too."""
    names: set[str] = set()
    end = weights = taken = 0
    for tensor in tensors:
        known = TENSOR_TYPES.get(tensor.type)
        if tensor.name in names:
            raise MisplacedTensors(f"two tensors {tensor.name!r}")
        if tensor.offset % alignment:
            raise MisplacedTensors(f"tensor {tensor.name!r} at {tensor.offset}, the alignment is {alignment}")
        if known and tensor.shape and tensor.shape[0] % known.block:
            raise MisplacedTensors(f"tensor {tensor.name!r} with rows of {tensor.shape[0]}, in blocks of {known.block}")
        size = tensor_bytes(tensor) if known else 1
        names.add(tensor.name)
        weights += math.prod(tensor.shape)
        taken += size
        end = max(end, tensor.offset + size)
    if weights > MOST_WEIGHTS or end > MOST_WEIGHTS:
        raise MisplacedTensors(f"{weights} weights that end at {end}")
    if taken > end:
        raise MisplacedTensors(f"tensors of {taken} bytes within {end}: they lie on each other")
    return end


def most_data_bytes(tensors: Iterable[TensorInfo]) -> int:
    """Return the largest size that the data section can have in bytes, not counting padding at its end."""
    return max((tensor.offset + most_tensor_bytes(tensor) for tensor in tensors), default=0)


def most_tensor_bytes(tensor: TensorInfo) -> int:
    """Return the most bytes that a tensor can have: eight per weight for unknown types, since no type has more."""
    return tensor_bytes(tensor) if tensor.type in TENSOR_TYPES else 8 * math.prod(tensor.shape)
