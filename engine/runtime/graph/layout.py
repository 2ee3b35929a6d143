"""What a pass and a target ask of a KV cache, whatever it keeps and where. Knows no graph of a whole pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from engine.protocol import HeadGroup
from engine.runtime.graph.cells import Cells
from engine.runtime.graph.ggml import Graph

BUCKET = 256  # cells: passes look at a multiple of it, llama.cpp's too
HALF = 2  # bytes of a number

Seen = NDArray[np.bool_]  # [new tokens, new tokens]: does the first see the second?
KeysAndValues = tuple[NDArray[np.float16], NDArray[np.float16]]  # of a layer, [tokens, kv-heads, head] each


def round_up(count: int, step: int = BUCKET) -> int:
    return max(step, -(-count // step) * step)


class Layout(ABC):
    """Owns keys and values. `size`, where it is asked for, is how many tokens are kept."""

    n_ctx: int
    layers: list[Cells]
    can_truncate = True  # single tokens; otherwise only all
    most: int | None = None  # tokens of a pass, if it makes a difference

    @property
    @abstractmethod
    def form(self) -> str:
        """Mode and shapes: what is saved of one form cannot be read by another."""

    @abstractmethod
    def begin(self, tokens: Sequence[int], size: int) -> bool:
        """Before each pass, of `tokens` behind `size` others. Has the cache moved, so that graphs are of no use? May
        raise Failure."""

    @abstractmethod
    def bucket(self, end: int) -> Hashable:
        """What of the cache a pass looks at that ends with `end` tokens: passes with the same share a graph."""

    @property
    @abstractmethod
    def largest_bucket(self) -> Hashable: ...

    @abstractmethod
    def inputs(self, g: Graph, n: int, bucket: Any) -> tuple[Any, ...]:
        """Input tensors of a pass of n tokens, which `fill` fills before each run."""

    @abstractmethod
    def attend(self, g: Graph, inputs: tuple[Any, ...], layer: int, q: Any, k: Any, v: Any, rotate: Any) -> Any:
        """Keep the keys k and values v of a layer's new tokens, [head, kv-heads, n], and attend to all with the
        queries q, [head, heads, n], rotated already. Returns [head, heads, n]."""

    @abstractmethod
    def fill(self, arrays: Sequence[NDArray[Any]], size: int, seen: Seen) -> None:
        """Fill the inputs for new tokens behind `size` others."""

    @abstractmethod
    def keep(self, base: int, nodes: Sequence[int]) -> None:
        """Of the tokens run behind the first `base` go on with those at `nodes` (counted from `base`), in order."""

    @abstractmethod
    def drop_after(self, size: int, held: int) -> int:
        """Forget all of `held` tokens but the first `size`; returns how many are left."""

    @abstractmethod
    def grow(self, n_ctx: int, size: int) -> None:
        """Make room for `n_ctx` tokens, or less than now. Raises Failure, and is then as it was."""

    def head_groups(self, size: int) -> tuple[HeadGroup, ...]:  # noqa: ARG002
        """None where all heads keep every token."""
        return ()

    @abstractmethod
    def state_bytes(self, size: int) -> int: ...

    @abstractmethod
    def write(self, file: IO[bytes], size: int) -> None: ...

    @abstractmethod
    def read(self, file: IO[bytes], size: int) -> bool:
        """Take what `write` wrote; False if the file is too short or does not fit."""

    @abstractmethod
    def close(self) -> None: ...
