"""One matrix product with packed weights, to be timed: how fast this processor computes, whatever the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from engine.runtime.graph.ggml import F32, Buffer, Graph, plain_memory
from engine.runtime.graph.passes import Processor
from engine.stop import StopFlag
from models.tensor_types import TYPE_NUMBERS

TYPE = TYPE_NUMBERS["Q4_K"]  # the type of most weights in most files
COLUMNS, ROWS, TOKENS = 2048, 8192, 128  # a layer's largest matrix in a model of 1 to 2 billion weights


@contextmanager
def packed_product(threads: int) -> Iterator[tuple[Callable[[], object], int]]:
    """Yield a function that computes a product with TOKENS tokens, and the number of its operations.

    The weights are zeros, which take as long as others.
    """
    with closing(Graph(0)) as graph, closing(Processor(threads, False, StopFlag())) as processor:
        graph.expand(graph.mul_mat(graph.new(TYPE, COLUMNS, ROWS), graph.new(F32, COLUMNS, TOKENS)))
        buffer = Buffer(graph, plain_memory())
        try:
            buffer.clear()
            yield lambda: processor.run(graph.graph), 2 * COLUMNS * ROWS * TOKENS
        finally:
            buffer.free()
