"""The sequences of a context: the chat and the branches of a draft tree, their tokens' positions, and copies of them.

All sequences lie in one unified KV cache, where a token's cell carries the ids of every sequence it belongs to. So what
sequences have in common is stored and computed once. The chat is SEQUENCE; the branches are other sequences beside it
for one pass.

The chat's sequence leaves its context while the KV cache moves: to grow, for branches, or to calibrate. A large copy
waits in a file, so that memory never holds the cache twice. A chat that grows from 16 k to 32 k tokens of a 1.5B model
moves 450 MB; in RAM they would come on top of the new cache, on a machine that may not have them. A file that is read
back at once is as fast as RAM (40 MB: 140 ms including the new context, either way), because nothing waits for the
disk: the file is not synced, and it is deleted when it has been read.

The files have llama.cpp's own format. llama.cpp aborts the process on a truncated file, so whoever keeps such files
must check them first (`engine.kv.saved`); bytes behind the sequence's end do no harm.
"""

from __future__ import annotations

import ctypes
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from weakref import finalize

from common.eviction import delete_leftovers
from common.failures import Failure
from common.files import make_private_folder, temporary_prefix
from engine.runtime.capi.context import SEQUENCE, CContext
from engine.tokenization.pictures import Block, saved_positions

log = logging.getLogger("engine.capi")
WHOLE, PARTIAL_ONLY = 0, 1  # LLAMA_STATE_SEQ_FLAGS
Buffer = bytes | bytearray | memoryview
ANY = -1
TO_END = -1


class Sequences:
    """The chat's and the branches' sequences of one context.

    `shared[i]` is the number of tokens that sequence i has in common with the chat. They stay shared for the next tree:
    giving the cells of a 32 k chat another id takes some milliseconds, while the few cells added since the last tree
    take next to no time.
    """

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

    def keep_branch(self, branch: int, base: int, end: int, in_order: bool) -> None:
        """Continue the chat with sequence `branch`: replace its cells from `base` on by the branch's cells up to `end`.

        `in_order`: the branch's cells follow each other without a gap.
        """
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
        """Move the chat's cells from `base` to `end` to the first free ones.

        Later tokens would fill the gaps, and attention would add the cells in another order. A quantised model
        amplifies that to some hundredths of its logits' spread: enough to choose another token than plain decoding.
        """
        memory = self.context.memory
        self.lib.llama_memory_seq_cp(memory, SEQUENCE, self.spare, base, end)
        cells = copy_state(self.context, self.spare)
        self.truncate(base)
        if not restore_state(self.context, cells, self.spare):
            raise RuntimeError("llama.cpp did not take its own state")
        self.lib.llama_memory_seq_cp(memory, self.spare, SEQUENCE, base, end)
        self.lib.llama_memory_seq_rm(memory, self.spare, base, TO_END)

    def truncate(self, size: int) -> bool:
        """Forget the cells from `size` on; return False if the model's cache cannot be cut."""
        which = ANY if self.shared else SEQUENCE
        self.shared = [min(shared, size) for shared in self.shared]
        return bool(self.lib.llama_memory_seq_rm(self.context.memory, which, size, TO_END))

    def clear(self) -> None:
        """Forget all tokens of all sequences."""
        self.lib.llama_memory_clear(self.context.memory, False)
        self.shared = [0] * len(self.shared)


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions of the tokens in the library's cache, by the `blocks` of pictures among them.

    With M-RoPE a picture of 16 × 12 tokens takes 16 positions: its tokens have coordinates besides. Without it each
    token takes one position.
    """

    blocks: tuple[Block, ...] = ()

    def of(self, size: int) -> int:
        """Return the position of the token at index `size`, which is not inside of a picture."""
        return size - sum(b.end - b.start - b.positions for b in self.blocks if b.end <= size)

    def cut(self, size: int) -> Positions:
        """Return the positions without the blocks that end behind the first `size` tokens."""
        return Positions(tuple(block for block in self.blocks if block.end <= size))


# --- copies outside the context ---


def state_bytes(context: CContext, sequence: int = SEQUENCE, flags: int = WHOLE) -> int:
    """Return the bytes that a copy of the sequence takes, in RAM or as a file."""
    return int(context.lib.llama_state_seq_get_size_ext(context.pointer, sequence, flags))


def copy_state(context: CContext, sequence: int = SEQUENCE, flags: int = WHOLE) -> memoryview:
    """Copy one of a context's sequences to RAM, or with PARTIAL_ONLY its recurrent states and sliding windows alone.

    Only llama.cpp copies parts. Raises MemoryError.
    """
    size = state_bytes(context, sequence, flags)
    data = (ctypes.c_uint8 * size)()
    written = context.lib.llama_state_seq_get_data_ext(context.pointer, data, size, sequence, flags)
    if written != size:
        raise RuntimeError(f"llama.cpp wrote {written} of {size} bytes of state")
    return memoryview(data).cast("B")


def restore_state(context: CContext, data: Buffer, sequence: int = SEQUENCE, flags: int = WHOLE) -> bool:
    """Replace what `copy_state` copied in a context of the same model; return whether the library took it."""
    array = (ctypes.c_uint8 * len(data)).from_buffer_copy(data) if isinstance(data, bytes) else data.obj  # type: ignore
    read = context.lib.llama_state_seq_set_data_ext(context.pointer, array, len(data), sequence, flags)
    return bool(read == len(data))


Restore = Callable[[CContext], None]  # loads a copy of the chat's sequence into a context; from a file only once


def copy_sequence(context: CContext, folder: Path | None, most_in_ram: int) -> Restore:
    """Copy the chat's sequence, to be restored into this or another context. Raises MemoryError.

    The copy lies in RAM if it has at most `most_in_ram` bytes, if there is no `folder`, or if `folder` cannot be
    written.
    """
    if folder is not None and state_bytes(context) > most_in_ram:
        try:
            return copy_to_file(context, folder)
        except OSError as error:
            log.warning("a chat's cache is moved in memory: %s", error)
    data = copy_state(context)

    def restore(target: CContext) -> None:
        if not restore_state(target, data):
            raise RuntimeError("llama.cpp did not take its own state")

    return restore


def copy_to_file(context: CContext, folder: Path) -> Restore:
    """Copy the chat's sequence to a private file of `folder`. Raises OSError if the file cannot be written.

    The returned function works only once: it deletes the file. So does its end, in case nobody restores the copy.
    """
    make_private_folder(folder)
    delete_leftovers(folder)
    handle, name = tempfile.mkstemp(dir=folder, prefix=temporary_prefix())  # mkstemp's mode is 0600
    os.close(handle)
    path, raw = Path(name), os.fsencode(name)
    tokens = (context.lib.llama_token * 1)()  # without room for tokens llama.cpp does not read the rest

    def restore(target: CContext) -> None:
        count = ctypes.c_size_t()
        try:
            read = target.lib.llama_state_seq_load_file(target.pointer, raw, SEQUENCE, tokens, 1, ctypes.byref(count))
        finally:
            delete()
        if read <= 0 or target.lib.llama_memory_seq_pos_max(target.memory, SEQUENCE) < 0:
            raise RuntimeError(f"llama.cpp did not take its own state from {path}")

    delete = finalize(restore, path.unlink, missing_ok=True)
    written = context.lib.llama_state_seq_save_file(context.pointer, raw, SEQUENCE, tokens, 1)
    if not written or written != path.stat().st_size:  # llama.cpp aborts on reading a truncated file
        delete()
        raise OSError(f"the cache could not be written to {folder}")
    return restore


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
    tokens = list(array[: count.value])
    restored = context.lib.llama_memory_seq_pos_max(context.memory, SEQUENCE) + 1
    if not read or restored != saved_positions(tokens):
        detail = f"{read} bytes read, {restored} positions of {count.value} tokens restored"
        raise Failure("cache_unusable.other_model", detail, file=path.name)
    return tokens
