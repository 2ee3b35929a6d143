"""Moving a sequence from one context to a larger one without both in memory: through RAM, or a file where it is large.

A chat that grows from 16 k to 32 k tokens of a 1.5B model moves 450 MB. In RAM that would be a third of the model's
size on top of the new cache, on a machine that may not have it; through a file it takes half a second, which nobody
notices after minutes of reading. The file is written to be read back at once: it is not synced, and deleted after.
"""

from __future__ import annotations

import ctypes
import logging
import os
import tempfile
from pathlib import Path

from engine.files import make_private_folder
from engine.llama.context import Context
from engine.llama.library import lib
from engine.llama.state import SEQUENCE, State, size_bytes
from engine.sizes import MOST_MOVED_IN_RAM

log = logging.getLogger("engine.llama")
PREFIX = "moving-"


class FileState:
    """A context's sequence in a private file of `folder`, deleted by `put`. Raises OSError if it cannot be written."""

    def __init__(self, context: Context, folder: Path) -> None:
        make_private_folder(folder)
        for left in folder.glob(f"{PREFIX}*"):  # by a crash: only one engine moves at a time, for some milliseconds
            left.unlink(missing_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=PREFIX)  # mkstemp's mode is 0600
        os.close(handle)
        self.path = Path(name)
        self.tokens = (lib.llama_token * 1)()  # without room for tokens llama.cpp does not read the rest
        written = lib.llama_state_seq_save_file(context.pointer, os.fsencode(name), SEQUENCE, self.tokens, 1)
        if not written or written != self.path.stat().st_size:  # llama.cpp aborts on reading a truncated file
            self.path.unlink()
            raise OSError(f"the cache could not be written to {folder}")

    def put(self, context: Context) -> None:
        count = ctypes.c_size_t()
        try:
            read = lib.llama_state_seq_load_file(
                context.pointer, os.fsencode(self.path), SEQUENCE, self.tokens, 1, ctypes.byref(count)
            )
        finally:
            self.path.unlink()
        if read <= 0 or lib.llama_memory_seq_pos_max(context.memory, SEQUENCE) < 0:
            raise RuntimeError(f"llama.cpp did not take its own state from {self.path}")


def take(context: Context, folder: Path | None) -> State | FileState:
    """The context's sequence, to be put into another one; in RAM if it is small or there is no folder for it."""
    if folder is not None and size_bytes(context) > MOST_MOVED_IN_RAM:
        try:
            return FileState(context, folder)
        except OSError as error:
            log.warning("a chat's cache is moved in memory: %s", error)
    return State(context)
