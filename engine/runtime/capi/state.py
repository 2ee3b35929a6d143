"""The keys and values of sequence 0 outside their context: as bytes, to move to another context, or as a file.

The file is llama.cpp's own. llama.cpp aborts the process on a truncated one: whoever keeps such files checks them
(`engine.kv.saved`); what stands behind its end does not matter.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

from engine.runtime.capi.batch import SEQUENCE
from engine.runtime.capi.context import CContext
from models.failures import Failure


def size_bytes(context: CContext, sequence: int = SEQUENCE) -> int:
    return int(context.lib.llama_state_seq_get_size(context.pointer, sequence))


class State:
    """A copy of one of a context's sequences; holds its bytes until it is dropped."""

    def __init__(self, context: CContext, sequence: int = SEQUENCE) -> None:
        self.sequence = sequence
        size = size_bytes(context, sequence)
        self.data = (ctypes.c_uint8 * size)()
        written = context.lib.llama_state_seq_get_data(context.pointer, self.data, size, sequence)
        if written != size:
            raise RuntimeError(f"llama.cpp wrote {written} of {size} bytes of state")

    def put(self, context: CContext) -> None:
        read = context.lib.llama_state_seq_set_data(context.pointer, self.data, len(self.data), self.sequence)
        if read != len(self.data):
            raise RuntimeError(f"llama.cpp took {read} of {len(self.data)} bytes of state")

    def discard(self) -> None:
        """Nothing is left behind."""


def save_file(context: CContext, path: Path, tokens: Sequence[int]) -> None:
    """Write the sequence with its tokens; raises Failure where the disk does not take it."""
    array = (context.lib.llama_token * len(tokens))(*tokens)
    try:
        path.touch(mode=0o600)
        if not context.lib.llama_state_seq_save_file(context.pointer, os.fsencode(path), SEQUENCE, array, len(tokens)):
            raise OSError("llama.cpp could not write it")
    except OSError as error:
        raise Failure("cache_unwritable", f"The saved context could not be written to {path}: {error}.") from error


def load_file(context: CContext, path: Path) -> list[int]:
    """Tokens of the file, whose keys and values are then in `context`; raises Failure if it is of another model."""
    array, count = (context.lib.llama_token * context.n_ctx)(), ctypes.c_size_t()
    read = context.lib.llama_state_seq_load_file(
        context.pointer, os.fsencode(path), SEQUENCE, array, context.n_ctx, ctypes.byref(count)
    )
    restored = context.lib.llama_memory_seq_pos_max(context.memory, SEQUENCE) + 1
    if not read or restored != count.value:
        detail = f"{read} bytes read, {restored} of {count.value} tokens restored"
        raise Failure("cache_unusable", f"The saved context {path.name} does not fit this model.", detail)
    return list(array[: count.value])
