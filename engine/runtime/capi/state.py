"""The keys and values of a sequence: shared by branches of a draft, and outside their context as bytes or as a file.

The files are llama.cpp's own. llama.cpp aborts the process on a truncated one: whoever keeps such files checks them
(`engine.kv.saved`); what stands behind their end does not matter.

A cache that moves to grow or to calibrate waits in a file, so that memory never holds it twice. A chat that grows from
16 k to 32 k tokens of a 1.5B model moves 450 MB. In RAM they would come on top of the new cache, on a machine that may
not have them. A file that is written to be read back at once is as fast (40 MB: 140 ms with the new context made,
either way), because nothing waits for the disk; it is not synced, and deleted when it was read.

Sequences lie in one unified KV cache, where a token's cell carries the ids of every sequence it belongs to: what they
have in common is stored and computed once. The chat is SEQUENCE, the branches of a draft tree are others beside it for
one pass.
"""

from __future__ import annotations

import ctypes
import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from common.failures import Failure
from common.files import make_private_folder
from engine.machine import writer_lives
from engine.runtime.capi.context import SEQUENCE, CContext

log = logging.getLogger("engine.capi")
MOST_IN_RAM = 8 << 20  # bytes: less than the compute buffers of any model, which a new context has not touched yet


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Makes a private file that the block writes. Raises Failure where the disk does not take it."""
    try:
        path.touch(mode=0o600)
        yield
    except OSError as error:
        raise Failure("cache_unwritable.file", file=path, reason=error) from error


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
        raise Failure("cache_unusable.other_model", detail, file=path.name)
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


ANY = -1
TO_END = -1


class Sequences:
    """`shared[i]`: tokens that sequence i has in common with the chat. They stay shared for the next tree: giving a
    32 k chat's cells another id takes some milliseconds, giving those that are new since the last tree none."""

    def __init__(self, context: CContext) -> None:
        self.context = context
        self.lib = context.lib
        *branches, self.spare = range(context.options.sequences)
        self.shared = [0] * len(branches)

    def share(self, count: int, size: int) -> None:
        """Make the first `count` sequences hold the chat's `size` tokens."""
        for sequence in range(1, count):
            if self.shared[sequence] < size:
                self.lib.llama_memory_seq_cp(self.context.memory, SEQUENCE, sequence, self.shared[sequence], TO_END)
                self.shared[sequence] = size

    def keep(self, branch: int, base: int, end: int, in_order: bool) -> None:
        """Of the cells from `base` on the chat goes on with those of sequence `branch` up to `end`.

        `in_order`: these follow each other without a gap."""
        memory = self.context.memory
        if branch != SEQUENCE:
            self.lib.llama_memory_seq_rm(memory, SEQUENCE, base, TO_END)
            self.lib.llama_memory_seq_cp(memory, branch, SEQUENCE, base, end)
        for sequence, shared in enumerate(self.shared):
            if sequence != SEQUENCE and shared:
                self.lib.llama_memory_seq_rm(memory, sequence, base, TO_END)
        self.truncate(end)
        self.shared = [min(shared, base) for shared in self.shared]
        if not in_order:
            self._close_gaps(base, end)

    def _close_gaps(self, base: int, end: int) -> None:
        """Move the chat's last cells to the first free ones.

        Later tokens would fill the gaps and attention would add in another order, which a quantised model amplifies to
        some hundredths of its logits' spread: enough to choose another token than plain decoding."""
        memory = self.context.memory
        self.lib.llama_memory_seq_cp(memory, SEQUENCE, self.spare, base, end)
        cells = State(self.context, self.spare)
        self.truncate(base)
        cells.put(self.context)
        self.lib.llama_memory_seq_cp(memory, self.spare, SEQUENCE, base, end)
        self.lib.llama_memory_seq_rm(memory, self.spare, base, TO_END)

    def truncate(self, size: int) -> bool:
        """Forget the cells from `size` on; False if the model cannot be cut."""
        which = ANY if self.shared else SEQUENCE
        self.shared = [min(shared, size) for shared in self.shared]
        return bool(self.lib.llama_memory_seq_rm(self.context.memory, which, size, TO_END))

    def clear(self) -> None:
        """Forget all tokens of all sequences."""
        self.lib.llama_memory_clear(self.context.memory, False)
        self.shared = [0] * len(self.shared)
