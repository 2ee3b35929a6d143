"""Copies of a sequence's keys and values outside its context: as bytes in RAM, or as a file with its tokens.

The files have llama.cpp's own format. llama.cpp aborts the process on a truncated file, so whoever keeps such files
must check them first (`engine.kv.saved`); bytes behind the sequence's end do no harm.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from common.failures import Failure
from engine.runtime.capi.context import SEQUENCE, CContext


def size_bytes(context: CContext, sequence: int = SEQUENCE) -> int:
    """Return the bytes that a copy of the sequence takes, in RAM or as a file."""
    return int(context.lib.llama_state_seq_get_size(context.pointer, sequence))


class SequenceState:
    """A copy in RAM of one of a context's sequences; its bytes are freed with the object."""

    def __init__(self, context: CContext, sequence: int = SEQUENCE) -> None:
        self.sequence = sequence
        size = size_bytes(context, sequence)
        self.data = (ctypes.c_uint8 * size)()
        written = context.lib.llama_state_seq_get_data(context.pointer, self.data, size, sequence)
        if written != size:
            raise RuntimeError(f"llama.cpp wrote {written} of {size} bytes of state")

    def restore_into(self, context: CContext) -> None:
        """Replace the content of the same sequence of `context`, which must belong to the same model."""
        read = context.lib.llama_state_seq_set_data(context.pointer, self.data, len(self.data), self.sequence)
        if read != len(self.data):
            raise RuntimeError(f"llama.cpp took {read} of {len(self.data)} bytes of state")

    def discard(self) -> None:
        """Do nothing: a copy in RAM leaves nothing behind. The counterpart in `TemporaryFileState` deletes its file."""


PARTIAL_ONLY = 1  # LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY


def copy_partial(context: CContext) -> memoryview:
    """Copy the chat's recurrent states and sliding windows, without what other layers keep. Raises MemoryError.

    Only llama.cpp has this.
    """
    size = context.lib.llama_state_seq_get_size_ext(context.pointer, SEQUENCE, PARTIAL_ONLY)
    data = (ctypes.c_uint8 * size)()
    written = context.lib.llama_state_seq_get_data_ext(context.pointer, data, size, SEQUENCE, PARTIAL_ONLY)
    if written != size:
        raise RuntimeError(f"llama.cpp wrote {written} of {size} bytes of state")
    return memoryview(data).cast("B")


def restore_partial(context: CContext, data: bytes | bytearray | memoryview) -> bool:
    """Replace the chat's recurrent states and sliding windows by a copy; return whether the library took it."""
    array = (ctypes.c_uint8 * len(data)).from_buffer_copy(data) if isinstance(data, bytes) else data.obj  # type: ignore
    read = context.lib.llama_state_seq_set_data_ext(context.pointer, array, len(data), SEQUENCE, PARTIAL_ONLY)
    return bool(read == len(data))


@contextmanager
def create_private_file(path: Path) -> Iterator[None]:
    """Create a file that only this user may read, for the block to write. Raises Failure if the disk refuses it."""
    try:
        path.touch(mode=0o600)
        yield
    except OSError as error:
        raise Failure("cache_unwritable.file", file=path, reason=error) from error


def save_file(context: CContext, path: Path, tokens: Sequence[int]) -> None:
    """Write the chat's sequence and its tokens to a file. Raises Failure if the disk does not take it."""
    array = (context.lib.llama_token * len(tokens))(*tokens)
    with create_private_file(path):
        if not context.lib.llama_state_seq_save_file(context.pointer, os.fsencode(path), SEQUENCE, array, len(tokens)):
            raise OSError("llama.cpp could not write it")


def load_file(context: CContext, path: Path) -> list[int]:
    """Load a file's keys and values into `context` and return its tokens. Raises Failure if another model wrote it."""
    array, count = (context.lib.llama_token * context.n_ctx)(), ctypes.c_size_t()
    read = context.lib.llama_state_seq_load_file(
        context.pointer, os.fsencode(path), SEQUENCE, array, context.n_ctx, ctypes.byref(count)
    )
    restored = context.lib.llama_memory_seq_pos_max(context.memory, SEQUENCE) + 1
    if not read or restored != count.value:
        detail = f"{read} bytes read, {restored} of {count.value} tokens restored"
        raise Failure("cache_unusable.other_model", detail, file=path.name)
    return list(array[: count.value])
