"""The keys and values of a sequence outside their context: as bytes, as a file, or in a file for a moment.

The files are llama.cpp's own. llama.cpp aborts the process on a truncated one: whoever keeps such files checks them
(`engine.kv.sealed`); what stands behind their end does not matter.

A cache that moves to grow or to calibrate waits in a file, so that memory never holds it twice. A chat that grows from
16 k to 32 k tokens of a 1.5B model moves 450 MB. In RAM they would come on top of the new cache, on a machine that may
not have them. A file that is written to be read back at once is as fast (40 MB: 140 ms with the new context made,
either way), because nothing waits for the disk; it is not synced, and deleted when it was read.
"""

from __future__ import annotations

import ctypes
import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from common.files import make_private_folder
from engine.machine import writer_lives
from engine.runtime.capi.context import SEQUENCE, CContext
from models.failures import Failure

log = logging.getLogger("engine.capi")
MOST_IN_RAM = 8 << 20  # bytes: less than the compute buffers of any model, which a new context has not touched yet


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Makes a private file that the block writes. Raises Failure where the disk does not take it."""
    try:
        path.touch(mode=0o600)
        yield
    except OSError as error:
        raise Failure("cache_unwritable", f"The saved context could not be written to {path}: {error}.") from error


def moving(folder: Path) -> str:
    """How a private file of `folder` begins its name that holds a cache for a moment.

    What engines that crashed in such a moment have left is deleted. Raises OSError."""
    make_private_folder(folder)
    for file in folder.glob("moving-*-*"):
        owner = file.name.split("-")[1]
        if owner.isdigit() and not writer_lives(int(owner), file):
            file.unlink(missing_ok=True)
    return f"moving-{os.getpid()}-"


def size_bytes(context: CContext, sequence: int = SEQUENCE) -> int:
    """Of a sequence as `State` or a file holds it."""
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
        """Into a context of the same model, in place of what its sequence held."""
        read = context.lib.llama_state_seq_set_data(context.pointer, self.data, len(self.data), self.sequence)
        if read != len(self.data):
            raise RuntimeError(f"llama.cpp took {read} of {len(self.data)} bytes of state")

    def discard(self) -> None:
        """Nothing is left behind."""


def save_file(context: CContext, path: Path, tokens: Sequence[int]) -> None:
    """Write the sequence with its tokens; raises Failure where the disk does not take it."""
    array = (context.lib.llama_token * len(tokens))(*tokens)
    with writing(path):
        if not context.lib.llama_state_seq_save_file(context.pointer, os.fsencode(path), SEQUENCE, array, len(tokens)):
            raise OSError("llama.cpp could not write it")


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


class FileState:
    """A context's sequence in a private file of `folder`, deleted by `put`. Raises OSError if it cannot be written."""

    def __init__(self, context: CContext, folder: Path) -> None:
        handle, name = tempfile.mkstemp(dir=folder, prefix=moving(folder))  # mkstemp's mode is 0600
        os.close(handle)
        self.path = Path(name)
        self.tokens = (context.lib.llama_token * 1)()  # without room for tokens llama.cpp does not read the rest
        written = context.lib.llama_state_seq_save_file(context.pointer, os.fsencode(name), SEQUENCE, self.tokens, 1)
        if not written or written != self.path.stat().st_size:  # llama.cpp aborts on reading a truncated file
            self.path.unlink()
            raise OSError(f"the cache could not be written to {folder}")

    def put(self, context: CContext) -> None:
        """Into a context of the same model; the file is deleted."""
        count = ctypes.c_size_t()
        try:
            read = context.lib.llama_state_seq_load_file(
                context.pointer, os.fsencode(self.path), SEQUENCE, self.tokens, 1, ctypes.byref(count)
            )
        finally:
            self.discard()
        if read <= 0 or context.lib.llama_memory_seq_pos_max(context.memory, SEQUENCE) < 0:
            raise RuntimeError(f"llama.cpp did not take its own state from {self.path}")

    def discard(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)


Moved = State | FileState


def take(context: CContext, folder: Path | None) -> Moved:
    """The context's sequence, to be put into another one; in RAM if it is small or there is no folder for it."""
    if folder is not None and size_bytes(context) > MOST_IN_RAM:
        try:
            return FileState(context, folder)
        except OSError as error:
            log.warning("a chat's cache is moved in memory: %s", error)
    return State(context)
