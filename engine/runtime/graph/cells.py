"""The memory of one layer's keys and values. Knows nothing of what its rows mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.runtime.graph.block import Block
from engine.runtime.graph.ggml import ALIGNMENT, F16, Context, MappedBuffer, array, data_bytes
from models.failures import Failure


class Cells:
    """Keys and values, F16, [count, width] each, as tensors `k` and `v` and as arrays (`rows`)."""

    def __init__(self, width: int, count: int, first: int = 0) -> None:
        """`first`: where a second kind of rows begins. Raises MemoryError."""
        self.width, self.count, self.first = width, count, first
        self.context = Context(2)
        self.k, self.v = self.context.new(F16, width, count), self.context.new(F16, width, count)
        half = -(-data_bytes(self.k) // ALIGNMENT) * ALIGNMENT
        try:
            self.block = Block(2 * half)
        except MemoryError:
            self.context.free()
            raise
        self.buffer = MappedBuffer(self.block.address, self.block.size)
        self.buffer.put(self.k, self.block.address)
        self.buffer.put(self.v, self.block.address + half)
        self.rows: tuple[NDArray[Any], NDArray[Any]] = (self._array(self.k), self._array(self.v))

    def _array(self, pointer: Any) -> NDArray[Any]:
        return array(pointer, np.float16, self.count, self.width)

    def squeeze(self, parts: Sequence[tuple[int, int, int]]) -> None:
        """Give up rows without new memory. Of the heads of each part (heads, rows of each now, rows of each to be left)
        the first rows are kept; all parts lie one behind the other."""
        begin = end = 0
        for heads, now, left in parts:
            for _ in range(heads):
                for rows in self.rows:
                    rows[end : end + left] = rows[begin : begin + left]
                begin, end = begin + now, end + left
        self.count, self.rows = end, (self.rows[0][:end], self.rows[1][:end])

    def free(self) -> None:
        self.buffer.free()
        self.context.free()
        self.block.free()


def no_memory(n_ctx: int) -> Failure:
    sentence = f"There is not enough free memory for a context of {n_ctx:,} tokens. Try a smaller one."
    return Failure("out_of_memory", sentence)
