"""The keys and values of sequence 0 outside their context: as bytes, to move to another context, or as a file."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

from engine.llama.context import Context
from engine.llama.library import lib
from models.failures import Failure

SEQUENCE = 0


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
    array = (lib.llama_token * len(tokens))(*tokens)
    if not lib.llama_state_seq_save_file(context.pointer, str(path).encode(), SEQUENCE, array, len(tokens)):
        raise Failure("cache_unwritable", f"The saved context could not be written to {path}.")


def load_file(context: Context, path: Path) -> list[int]:
    """Tokens of the file, whose keys and values are then in `context`; asserts that they really are."""
    room = context.n_ctx
    array, count = (lib.llama_token * room)(), ctypes.c_size_t()
    read = lib.llama_state_seq_load_file(
        context.pointer, str(path).encode(), SEQUENCE, array, room, ctypes.byref(count)
    )
    restored = lib.llama_memory_seq_pos_max(context.memory, SEQUENCE) + 1
    if not read or restored != count.value:
        detail = f"{read} bytes read, {restored} of {count.value} tokens restored"
        raise Failure("cache_unusable", f"The saved context {path.name} does not fit this model.", detail)
    return list(array[: count.value])
