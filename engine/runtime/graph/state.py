"""The content of a KV cache outside of it: set aside for a moment, or in a file with its tokens.

A file begins with what it is (`Label`, a line of JSON); what stands behind its end does not matter (see
`engine.kv.saved`).
"""

from __future__ import annotations

import io
import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import msgspec
import numpy as np

from common.failures import Failure
from engine.runtime.capi.state import MOST_IN_RAM, moving, writing
from engine.runtime.graph.layout import Layout

log = logging.getLogger("engine.graph")
MOST_LABEL = 1 << 16  # bytes


class Label(msgspec.Struct, frozen=True):
    """`form`: mode and shapes of the cache; a file of another form is of no use."""

    format: str
    form: str
    tokens: int


FORMAT = "chickadee-kv-1"


class Aside:
    """A copy of a cache's first `size` tokens: in RAM if it is small, else in a private file of `folder`."""

    def __init__(self, kv: Layout, size: int, folder: Path | None) -> None:
        self.size = size
        self.file: IO[bytes] = self._open(folder if kv.state_bytes(size) > MOST_IN_RAM else None)
        kv.write(self.file, size)

    def _open(self, folder: Path | None) -> IO[bytes]:
        if folder is not None:
            try:
                return tempfile.TemporaryFile(dir=folder, prefix=moving(folder))
            except OSError as error:
                log.warning("a chat's cache is set aside in memory: %s", error)
        return io.BytesIO()

    def put(self, kv: Layout) -> None:
        """Back into a cache of the same form; what was set aside is then gone."""
        self.file.seek(0)
        whole = kv.read(self.file, self.size)
        self.file.close()
        if not whole:
            raise RuntimeError("what was set aside of a cache is incomplete")


def save_file(kv: Layout, path: Path, tokens: Sequence[int]) -> None:
    """Raises Failure where the disk does not take it."""
    label = msgspec.json.encode(Label(FORMAT, kv.form, len(tokens)))
    with writing(path), path.open("wb") as file:
        file.write(label + b"\n" + np.array(tokens, np.int32).tobytes())
        kv.write(file, len(tokens))


def load_file(kv: Layout, path: Path) -> list[int]:
    """Tokens of the file, whose keys and values are then in `kv`; raises Failure if it does not fit."""
    try:
        with path.open("rb") as file:
            return _load(kv, file)
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise Failure("cache_unusable.other_heads", str(error), file=path.name) from error


def _load(kv: Layout, file: IO[bytes]) -> list[int]:
    label = msgspec.json.decode(file.readline(MOST_LABEL), type=Label)
    if (label.format, label.form) != (FORMAT, kv.form):
        raise ValueError(f"{label} is not {kv.form}")
    if not 0 <= label.tokens <= kv.n_ctx:
        raise ValueError(f"{label.tokens} tokens do not fit into {kv.n_ctx}")
    raw = file.read(4 * label.tokens)
    if len(raw) < 4 * label.tokens or not kv.read(file, label.tokens):
        raise ValueError("it ends too early")
    return [int(token) for token in np.frombuffer(raw, np.int32)]
