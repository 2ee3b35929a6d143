"""The content of a KV cache outside the cache: a temporary copy, or a file with the chat's tokens.

A file begins with its `FileHeader`, a line of JSON; bytes behind its end are ignored (`engine.kv.saved` appends a
seal).
"""

from __future__ import annotations

import io
import logging
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import IO

import msgspec
import numpy as np

from common.eviction import delete_leftovers
from common.failures import Failure
from common.files import make_private_folder, temporary_prefix
from engine.runtime.capi.sequences import create_private_file
from engine.runtime.graph.kv_layout import KVLayout

log = logging.getLogger("engine.graph")
MAX_HEADER_BYTES = 1 << 16


class FileHeader(msgspec.Struct, frozen=True):
    """The first line of a saved cache; `form` is the cache's mode and shapes, which must match when it is loaded."""

    format: str
    form: str
    tokens: int


FORMAT = "chickadee-kv-1"


def copy_kv(kv: KVLayout, size: int, folder: Path | None, most_in_ram: int) -> Callable[[KVLayout], None]:
    """Copy a cache's first `size` tokens; return a function that loads the copy into a cache of the same form.

    A copy of more than `most_in_ram` bytes lies in a private temporary file in `folder`, until it is loaded.
    """
    in_ram = kv.state_bytes(size) <= most_in_ram
    file = _open_temporary(None if in_ram else folder)
    kv.write(file, size)

    def restore(target: KVLayout) -> None:
        file.seek(0)
        with nullcontext() if in_ram else file:
            if not target.read(file, size):
                raise RuntimeError("what was set aside of a cache is incomplete")

    return restore


def _open_temporary(folder: Path | None) -> IO[bytes]:
    if folder is not None:
        try:
            make_private_folder(folder)
            delete_leftovers(folder)
            return tempfile.TemporaryFile(dir=folder, prefix=temporary_prefix())
        except OSError as error:
            log.warning("a chat's cache is set aside in memory: %s", error)
    return io.BytesIO()


def save_kv(kv: KVLayout, path: Path, tokens: Sequence[int]) -> None:
    """Write all tokens with their keys and values to a file. Raises Failure if the disk does not take it."""
    header = msgspec.json.encode(FileHeader(FORMAT, kv.form, len(tokens)))
    with create_private_file(path), path.open("wb") as file:
        file.write(header + b"\n" + np.array(tokens, np.int32).tobytes())
        kv.write(file, len(tokens))


def load_kv(kv: KVLayout, path: Path) -> list[int]:
    """Load a file's keys and values into `kv` and return its tokens. Raises Failure if the file does not fit."""
    try:
        with path.open("rb") as file:
            return _load(kv, file)
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise Failure("cache_unusable.other_heads", str(error), file=path.name) from error


def _load(kv: KVLayout, file: IO[bytes]) -> list[int]:
    header = msgspec.json.decode(file.readline(MAX_HEADER_BYTES), type=FileHeader)
    if (header.format, header.form) != (FORMAT, kv.form):
        raise ValueError(f"{header} is not {kv.form}")
    if not 0 <= header.tokens <= kv.n_ctx:
        raise ValueError(f"{header.tokens} tokens do not fit into {kv.n_ctx}")
    raw = file.read(4 * header.tokens)
    if len(raw) < 4 * header.tokens or not kv.read(file, header.tokens):
        raise ValueError("it ends too early")
    return [int(token) for token in np.frombuffer(raw, np.int32)]
