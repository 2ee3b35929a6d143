"""The plain KV cache: one cell per token and head of a layer. Knows no pass.

Each head's keys lie together, and its values, in the order of the tokens. llama.cpp keeps a token's heads together,
so that attention, which reads one head at a time, steps over the others: behind 4,096 tokens passes of a model with
two heads of 128 took 7 % longer that way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from engine.runtime.graph.dimensions import Dimensions
from engine.runtime.graph.ggml import F16, I64, Graph, shape
from engine.runtime.graph.layout import (
    BUCKET,
    HALF,
    Cells,
    KeysAndValues,
    Layout,
    Projected,
    Rotate,
    Seen,
    no_memory,
    round_up,
)


class ExactKV(Layout):
    """Holds what llama.cpp's cache does, so that passes give the same logits to the last bit."""

    def __init__(self, d: Dimensions, n_ctx: int) -> None:
        """Raises Failure where there is no memory for it."""
        self.d = d
        self.n_ctx = round_up(n_ctx)
        self.layers: list[Cells] = []
        try:
            for _ in range(d.layers):
                self.layers.append(self._cells(self.n_ctx))
        except MemoryError as error:
            self.close()
            raise no_memory(n_ctx) from error

    def _cells(self, n_ctx: int) -> Cells:
        return Cells(self.d.head, self.d.kv_heads * n_ctx)

    def _by_token(self, cells: Cells) -> list[NDArray[Any]]:
        """A layer's keys and values as [n_ctx, kv-heads, head]."""
        shape = (self.d.kv_heads, -1, self.d.head)
        return [rows.reshape(shape).transpose(1, 0, 2) for rows in cells.rows]

    @property
    def form(self) -> str:
        """See `Layout`."""
        return f"exact {self.d.layers} × {self.d.kv_heads} × {self.d.head}"

    def begin(self, tokens: Sequence[int], size: int) -> bool:  # noqa: ARG002
        """See `Layout`."""
        return False

    # --- in a graph ---

    def bucket(self, end: int) -> int:
        """How many cells a pass looks at that ends with `end` tokens in the cache: a multiple, to re-use its graph."""
        return min(round_up(end, BUCKET), self.n_ctx)

    @property
    def largest_bucket(self) -> int:
        """See `Layout`."""
        return self.n_ctx

    def inputs(self, g: Graph, n: int, bucket: Any) -> tuple[Any, ...]:
        """See `Layout`."""
        return g.input(I64, n * self.d.kv_heads), g.input(F16, bucket, n)

    def attend(self, g: Graph, inputs: tuple[Any, ...], layer: int, new: Projected, rotate: Rotate) -> Any:
        """See `Layout`."""
        cells, (index, mask) = self.layers[layer], inputs
        (n_kv, n), head, heads = shape(mask), self.d.head, self.d.kv_heads
        q, k, v = new.q, rotate(new.k), new.v
        for made in (q, k, v):  # in llama.cpp's order
            g.expand(made)
        for made, kept in ((k, cells.k), (v, cells.v)):
            g.expand(g.set_rows(kept, g.reshape_2d(made, head, heads * n), index))
        row = head * HALF
        ks, vs = (g.view_3d(kept, head, n_kv, heads, row, self.n_ctx * row, 0) for kept in (cells.k, cells.v))
        return g.attention(g.permute(q, 0, 2, 1, 3), ks, vs, mask, self.d.scale)

    def fill(self, arrays: Sequence[NDArray[Any]], size: int, seen: Seen) -> None:
        """Behind `size` tokens; each new one sees all of these, and of the new ones those that `seen` says."""
        index, mask = arrays
        n = len(mask)
        heads = np.arange(self.d.kv_heads) * self.n_ctx
        index[:] = (np.arange(size, size + n)[:, None] + heads).ravel()
        mask[:, :size] = 0
        mask[:, size : size + n] = np.where(seen, np.float16(0), np.float16(-np.inf))
        mask[:, size + n :] = -np.inf

    # --- what is kept ---

    def keep(self, base: int, nodes: Sequence[int]) -> None:
        """Of the tokens behind the first `base` go on with those at `nodes` (indices from `base` on), moved up."""
        source = [base + node for node in nodes]
        for cells in self.layers:
            for kept in self._by_token(cells):
                kept[base : base + len(source)] = kept[source]

    def drop_after(self, size: int, _held: int) -> int:
        """See `Layout`."""
        return size

    def grow(self, n_ctx: int, size: int) -> None:
        """Layer by layer, so that the cache is never in memory twice; raises Failure, and then holds the same and is no
        larger than it was."""
        count = round_up(n_ctx)
        try:
            for i, old in enumerate(self.layers):
                new = self._cells(count)
                for source, target in zip(self._by_token(old), self._by_token(new), strict=True):
                    target[:size] = source[:size]
                self.layers[i] = new
                old.free()
        except MemoryError as error:
            self._even_out(count)
            raise no_memory(n_ctx) from error
        self.n_ctx = count

    def _even_out(self, n_ctx: int) -> None:
        """After a move to `n_ctx` that ended halfway: all layers as large as the smaller ones. They must agree on where
        a head begins."""
        self.n_ctx = min(self.n_ctx, n_ctx)
        heads = self.d.kv_heads
        for cells in self.layers:
            cells.squeeze([(heads, cells.count // heads, self.n_ctx)])

    def state_bytes(self, size: int) -> int:
        """See `Layout`."""
        return self.d.layers * 2 * size * self._token_bytes

    @property
    def _token_bytes(self) -> int:
        """Of a layer's keys."""
        return self.d.kv_heads * self.d.head * HALF

    def kept(self, size: int) -> list[KeysAndValues]:
        """A copy of each layer's first `size` tokens."""
        layers = (self._by_token(cells) for cells in self.layers)
        return [(keys[:size].copy(), values[:size].copy()) for keys, values in layers]

    def write(self, file: IO[bytes], size: int) -> None:
        """See `Layout`."""
        for cells in self.layers:
            for kept in self._by_token(cells):
                file.write(np.ascontiguousarray(kept[:size]).data)

    def read(self, file: IO[bytes], size: int) -> bool:
        """False if the file is too short."""
        wanted = size * self._token_bytes
        for cells in self.layers:
            for kept in self._by_token(cells):
                data = file.read(wanted)
                if len(data) < wanted:
                    return False
                kept[:size] = np.frombuffer(data, np.float16).reshape(size, self.d.kv_heads, self.d.head)
        return True

    def close(self) -> None:
        """See `Layout`."""
        for cells in self.layers:
            cells.free()
        self.layers = []
