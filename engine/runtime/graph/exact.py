"""The plain KV cache: one cell per token, layer and kv-head. This module knows no pass.

One head's keys lie together in the order of the tokens, and so do its values. llama.cpp keeps a token's heads together,
so attention, which reads one head at a time, has to skip the others: behind 4,096 tokens, passes of a model with two
heads of 128 took 7 % longer that way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from engine.runtime.graph.dimensions import Dimensions
from engine.runtime.graph.ggml import F16, I64, Graph, shape
from engine.runtime.graph.kv_layout import (
    BUCKET,
    F16_BYTES,
    Cells,
    KeysAndValues,
    KVLayout,
    Projected,
    Rotate,
    Seen,
    out_of_memory,
    round_up,
)


class ExactKV(KVLayout):
    """A KV cache with the same content as llama.cpp's, so that passes give the same logits to the last bit."""

    def __init__(self, d: Dimensions, n_ctx: int) -> None:
        """Allocate the cells of all layers. Raises Failure if memory is short."""
        self.d = d
        self.n_ctx = round_up(n_ctx)
        self.layers: list[Cells] = []
        try:
            for _ in range(d.layers):
                self.layers.append(self._cells(self.n_ctx))
        except MemoryError as error:
            self.close()
            raise out_of_memory(n_ctx) from error

    def _cells(self, n_ctx: int) -> Cells:
        return Cells(self.d.head, self.d.kv_heads * n_ctx)

    def _by_token(self, cells: Cells) -> list[NDArray[Any]]:
        """Return views of a layer's keys and values as [n_ctx, kv-heads, head]."""
        shape = (self.d.kv_heads, -1, self.d.head)
        return [rows.reshape(shape).transpose(1, 0, 2) for rows in cells.rows]

    @property
    def form(self) -> str:
        return f"exact {self.d.layers} × {self.d.kv_heads} × {self.d.head}"

    def begin_pass(self, tokens: Sequence[int], size: int) -> bool:  # noqa: ARG002
        return False

    # --- for a graph ---

    def bucket(self, end: int) -> int:
        """Return how many cells a pass reads that ends with `end` cached tokens.

        The number is rounded up to a multiple of BUCKET, so that passes share their graphs.
        """
        return min(round_up(end, BUCKET), self.n_ctx)

    @property
    def largest_bucket(self) -> int:
        return self.n_ctx

    def create_inputs(self, g: Graph, n: int, bucket: Any) -> tuple[Any, ...]:
        """Create the inputs: the rows that new keys and values are written to, and the attention mask."""
        return g.input(I64, n * self.d.kv_heads), g.input(F16, bucket, n)

    def attend(self, g: Graph, inputs: tuple[Any, ...], layer: int, new: Projected, rotate: Rotate) -> Any:
        cells, (index, mask) = self.layers[layer], inputs
        (n_kv, n), head, heads = shape(mask), self.d.head, self.d.kv_heads
        q, k, v = new.q, rotate(new.k), new.v
        for projected in (q, k, v):  # llama.cpp's order, for equal results
            g.expand(projected)
        for projected, cached in ((k, cells.k), (v, cells.v)):
            g.expand(g.set_rows(cached, g.reshape_2d(projected, head, heads * n), index))
        row = head * F16_BYTES
        ks, vs = (g.view_3d(cached, head, n_kv, heads, row, self.n_ctx * row, 0) for cached in (cells.k, cells.v))
        return g.attention(g.permute(q, 0, 2, 1, 3), ks, vs, mask, self.d.scale)

    def fill_inputs(self, arrays: Sequence[NDArray[Any]], size: int, seen: Seen) -> None:
        """Fill the row numbers and the mask for new tokens behind `size` cached ones.

        Each new token sees all cached ones, and those of the new ones that `seen` marks.
        """
        index, mask = arrays
        n = len(mask)
        heads = np.arange(self.d.kv_heads) * self.n_ctx
        index[:] = (np.arange(size, size + n)[:, None] + heads).ravel()
        mask[:, :size] = 0
        mask[:, size : size + n] = np.where(seen, np.float16(0), np.float16(-np.inf))
        mask[:, size + n :] = -np.inf

    # --- cached tokens ---

    def keep_nodes(self, base: int, nodes: Sequence[int]) -> None:
        """Move the keys and values at `nodes` (counted from `base`) to the cells right behind `base` tokens."""
        source = [base + node for node in nodes]
        for cells in self.layers:
            for kept in self._by_token(cells):
                kept[base : base + len(source)] = kept[source]

    def drop_after(self, size: int, _held: int) -> int:
        return size

    def resize(self, n_ctx: int, size: int) -> None:
        """Move to cells for `n_ctx` tokens, layer by layer, so that memory never holds the cache twice.

        Raises Failure if memory is short; the cache then holds the same tokens and is no larger than before.
        """
        count = round_up(n_ctx)
        try:
            for i, old in enumerate(self.layers):
                new = self._cells(count)
                for source, target in zip(self._by_token(old), self._by_token(new), strict=True):
                    target[:size] = source[:size]
                self.layers[i] = new
                old.free()
        except MemoryError as error:
            self._shrink_to_smallest(count)
            raise out_of_memory(n_ctx) from error
        self.n_ctx = count

    def _shrink_to_smallest(self, n_ctx: int) -> None:
        """Shrink all layers to the smaller size after a move to `n_ctx` that failed halfway.

        All layers must agree on the row where a head begins.
        """
        self.n_ctx = min(self.n_ctx, n_ctx)
        heads = self.d.kv_heads
        for cells in self.layers:
            cells.drop_rows([(heads, cells.count // heads, self.n_ctx)])

    def state_bytes(self, size: int) -> int:
        return self.d.layers * 2 * size * self._token_bytes

    @property
    def _token_bytes(self) -> int:
        """Bytes of one token's keys in one layer; its values take as many."""
        return self.d.kv_heads * self.d.head * F16_BYTES

    def copy_tokens(self, size: int) -> list[KeysAndValues]:
        """Return a copy of the first `size` tokens' keys and values, layer by layer."""
        layers = (self._by_token(cells) for cells in self.layers)
        return [(keys[:size].copy(), values[:size].copy()) for keys, values in layers]

    def write(self, file: IO[bytes], size: int) -> None:
        for cells in self.layers:
            for kept in self._by_token(cells):
                file.write(np.ascontiguousarray(kept[:size]).data)

    def read(self, file: IO[bytes], size: int) -> bool:
        """Read what `write` wrote; return False if the file is too short."""
        wanted = size * self._token_bytes
        for cells in self.layers:
            for kept in self._by_token(cells):
                data = file.read(wanted)
                if len(data) < wanted:
                    return False
                kept[:size] = np.frombuffer(data, np.float16).reshape(size, self.d.kv_heads, self.d.head)
        return True

    def close(self) -> None:
        for cells in self.layers:
            cells.free()
        self.layers = []
