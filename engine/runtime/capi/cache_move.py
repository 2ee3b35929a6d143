"""Copying the chat's sequence out of its context while the KV cache moves: to grow, for branches, or to calibrate.

A large copy waits in a file, so that memory never holds the cache twice. A chat that grows from 16 k to 32 k tokens of
a 1.5B model moves 450 MB; in RAM they would come on top of the new cache, on a machine that may not have them. A file
that is read back at once is as fast as RAM (40 MB: 140 ms including the new context, either way), because nothing waits
for the disk: the file is not synced, and it is deleted when it has been read.
"""

from __future__ import annotations

import ctypes
import logging
import os
import tempfile
from pathlib import Path
from weakref import finalize

from common.files import make_private_folder
from engine.machine import writer_is_alive
from engine.runtime.capi.context import SEQUENCE, CContext
from engine.runtime.capi.sequence_state import SequenceState, size_bytes

log = logging.getLogger("engine.capi")
MOST_IN_RAM = 8 << 20  # bytes: less than the compute buffers of any model, which a new context has not touched yet


def temporary_prefix() -> str:
    """Return how this process begins the names of files that hold a cache while it moves."""
    return f"moving-{os.getpid()}-"


def delete_leftovers(folder: Path) -> None:
    """Delete the moving caches that crashed engines left in `folder`. Raises OSError."""
    for file in folder.glob("moving-*-*"):
        owner = file.name.split("-")[1]
        if owner.isdigit() and not writer_is_alive(int(owner), file):
            file.unlink(missing_ok=True)


class TemporaryFileState:
    """A copy of the chat's sequence in a private file of `folder`.

    `restore_into` deletes the file; so does the end of this object, in case nobody restores the copy. Raises OSError if
    the file cannot be written.
    """

    def __init__(self, context: CContext, folder: Path) -> None:
        make_private_folder(folder)
        delete_leftovers(folder)
        handle, name = tempfile.mkstemp(dir=folder, prefix=temporary_prefix())  # mkstemp's mode is 0600
        os.close(handle)
        self.path = Path(name)
        self._delete = finalize(self, self.path.unlink, missing_ok=True)
        self.tokens = (context.lib.llama_token * 1)()  # without room for tokens llama.cpp does not read the rest
        written = context.lib.llama_state_seq_save_file(context.pointer, os.fsencode(name), SEQUENCE, self.tokens, 1)
        if not written or written != self.path.stat().st_size:  # llama.cpp aborts on reading a truncated file
            self.discard()
            raise OSError(f"the cache could not be written to {folder}")

    def restore_into(self, context: CContext) -> None:
        """Load the copy into a context of the same model, then delete the file: this works only once."""
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
        """Delete the file if it still exists."""
        self._delete()


SequenceCopy = SequenceState | TemporaryFileState


def copy_sequence(context: CContext, folder: Path | None) -> SequenceCopy:
    """Copy the chat's sequence, to be restored into another context.

    The copy lies in RAM if it is small (`MOST_IN_RAM`), if there is no `folder`, or if `folder` cannot be written.
    """
    if folder is not None and size_bytes(context) > MOST_IN_RAM:
        try:
            return TemporaryFileState(context, folder)
        except OSError as error:
            log.warning("a chat's cache is moved in memory: %s", error)
    return SequenceState(context)
