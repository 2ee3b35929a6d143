"""The keys and values of sequence 0 outside their context: as bytes, to move to another context, or as a file.

The file is llama.cpp's own, followed by a SHA-256 of it: llama.cpp aborts the process on a damaged file, so nothing
unchecked may reach it.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from engine.llama.context import Context
from engine.llama.library import lib
from models.failures import Failure

SEQUENCE = 0
DIGEST_BYTES = hashlib.sha256().digest_size


class State:
    """A copy of a context's sequence; holds its bytes until it is dropped."""

    def __init__(self, context: Context) -> None:
        size = lib.llama_state_seq_get_size(context.pointer, SEQUENCE)
        self.data = (ctypes.c_uint8 * size)()
        written = lib.llama_state_seq_get_data(context.pointer, self.data, size, SEQUENCE)
        assert written == size, (written, size)

    def put(self, context: Context) -> None:
        read = lib.llama_state_seq_set_data(context.pointer, self.data, len(self.data), SEQUENCE)
        if read != len(self.data):
            raise RuntimeError(f"llama.cpp took {read} of {len(self.data)} bytes of state")


def save_file(context: Context, path: Path, tokens: Sequence[int]) -> None:
    """Write the sequence with its tokens; raises Failure where the disk does not take it."""
    array = (lib.llama_token * len(tokens))(*tokens)
    try:
        path.touch(mode=0o600)
        if not lib.llama_state_seq_save_file(context.pointer, os.fsencode(path), SEQUENCE, array, len(tokens)):
            raise OSError("llama.cpp could not write it")
        with path.open("r+b") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
            file.write(digest)
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
    """Does the file end in the digest of all that stands before it?"""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            left = os.fstat(file.fileno()).st_size - DIGEST_BYTES
            while left > 0 and (part := file.read(min(left, 1 << 20))):
                digest.update(part)
                left -= len(part)
            return left == 0 and file.read() == digest.digest()
    except OSError as error:
        raise Failure("cache_unusable", f"The saved context {path.name} cannot be read: {error.strerror}.") from error
