"""The keys and values of sequence 0 outside their context: as bytes, to move to another context, or as a file.

The file is llama.cpp's own, followed by its CRC-32: llama.cpp aborts the process on a truncated file, so no unchecked
one may reach it. A CRC, because it must find accidents, fast: 4 GB/s where SHA-256 does 1.7, or 0.4 on an older
processor, and no unkeyed digest would keep out somebody who can write the user's private files.
"""

from __future__ import annotations

import ctypes
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

from engine.llama.batch import SEQUENCE
from engine.llama.context import Context
from engine.llama.library import lib
from models.failures import Failure

CHECKSUM_BYTES = 4
PIECE_BYTES = 1 << 20


def size_bytes(context: Context, sequence: int = SEQUENCE) -> int:
    return int(lib.llama_state_seq_get_size(context.pointer, sequence))


class State:
    """A copy of one of a context's sequences; holds its bytes until it is dropped."""

    def __init__(self, context: Context, sequence: int = SEQUENCE) -> None:
        self.sequence = sequence
        size = size_bytes(context, sequence)
        self.data = (ctypes.c_uint8 * size)()
        written = lib.llama_state_seq_get_data(context.pointer, self.data, size, sequence)
        assert written == size, (written, size)

    def put(self, context: Context) -> None:
        read = lib.llama_state_seq_set_data(context.pointer, self.data, len(self.data), self.sequence)
        if read != len(self.data):
            raise RuntimeError(f"llama.cpp took {read} of {len(self.data)} bytes of state")


def save_file(context: Context, path: Path, tokens: Sequence[int]) -> None:
    """Write the sequence with its tokens and see it on the disk; raises Failure where the disk does not take it."""
    array = (lib.llama_token * len(tokens))(*tokens)
    try:
        path.touch(mode=0o600)
        if not lib.llama_state_seq_save_file(context.pointer, os.fsencode(path), SEQUENCE, array, len(tokens)):
            raise OSError("llama.cpp could not write it")
        with path.open("r+b") as file:
            checksum = 0
            while piece := file.read(PIECE_BYTES):
                checksum = zlib.crc32(piece, checksum)
            file.write(checksum.to_bytes(CHECKSUM_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise Failure("cache_unwritable", f"The saved context could not be written to {path}: {error}.") from error


def load_file(context: Context, path: Path) -> list[int]:
    """Tokens of the file, whose keys and values are then in `context`; raises Failure if it is not exactly as saved."""
    if not is_whole(path):
        raise Failure("cache_unusable", f"The saved context {path.name} is damaged.")
    array, count = (lib.llama_token * context.n_ctx)(), ctypes.c_size_t()
    read = lib.llama_state_seq_load_file(
        context.pointer, os.fsencode(path), SEQUENCE, array, context.n_ctx, ctypes.byref(count)
    )
    restored = lib.llama_memory_seq_pos_max(context.memory, SEQUENCE) + 1
    if not read or restored != count.value:
        detail = f"{read} bytes read, {restored} of {count.value} tokens restored"
        raise Failure("cache_unusable", f"The saved context {path.name} does not fit this model.", detail)
    return list(array[: count.value])


def is_whole(path: Path) -> bool:
    """Does the file end in the checksum of all that stands before it?"""
    checksum = 0
    try:
        with path.open("rb") as file:
            left = os.fstat(file.fileno()).st_size - CHECKSUM_BYTES
            while left > 0 and (piece := file.read(min(left, PIECE_BYTES))):
                checksum = zlib.crc32(piece, checksum)
                left -= len(piece)
            return left == 0 and file.read() == checksum.to_bytes(CHECKSUM_BYTES)
    except OSError as error:
        raise Failure("cache_unusable", f"The saved context {path.name} cannot be read: {error.strerror}.") from error
