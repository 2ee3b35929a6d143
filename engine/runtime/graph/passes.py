"""Passes ready to run: a graph for each number of tokens, of logits rows and of cells, built once and used again.

All share one block of memory for what they compute, made for the largest of them: a pass is valid until the next runs.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from engine.runtime.capi.context import free_cores
from engine.runtime.capi.library import AbortCallback
from engine.runtime.graph.dimensions import Dimensions
from engine.runtime.graph.forward import Forward
from engine.runtime.graph.ggml import ABORTED, I32, INT, SUCCESS, Graph, plain_memory, rows_of
from engine.runtime.graph.layout import Layout, Seen
from engine.runtime.graph.model import GraphModel
from engine.runtime.llama.library import ggml
from engine.runtime.llama.repack import SIZE, P, cpu_device
from engine.runtime.llama.runtime import Interrupt
from engine.stop import StopFlag, Stopped

Inputs = Sequence[int] | NDArray[np.float32]  # of a pass: token ids, or hidden states [n, embedding]
MOST_KEPT = 32  # passes: a graph's description takes half a megabyte


class Processor:
    """ggml's CPU backend with its threads, fewer if it `gives_way`; `stop` stops it within a pass."""

    def __init__(self, threads: int, gives_way: bool, stop: StopFlag) -> None:
        self._threads, self._gives_way, self._used = threads, gives_way, 0
        self._interrupt: Interrupt | None = Interrupt(stop)
        self.stop = stop
        self.pointer = ggml("ggml_backend_dev_init", P, P, ctypes.c_char_p)(cpu_device(), None)
        self._set_threads = device_function("ggml_backend_set_n_threads", P, INT)
        set_callback = device_function("ggml_backend_set_abort_callback", P, AbortCallback, P)
        set_callback(self.pointer, self._interrupt.function, self._interrupt.address)
        self._compute = ggml("ggml_backend_graph_compute", INT, P, P)

    def run(self, graph: Any) -> None:
        if self.stop.is_set():
            raise Stopped
        self._use(free_cores().threads(self._threads) if self._gives_way else self._threads)
        status = self._compute(self.pointer, graph)
        if status == ABORTED:
            raise Stopped
        if status != SUCCESS:
            raise RuntimeError(f"ggml could not compute a pass: {status}")

    @property
    def gave_way(self) -> bool:
        """Did the last pass run with fewer threads than usual?"""
        return self._used < self._threads

    def _use(self, threads: int) -> None:
        if threads != self._used:
            self._set_threads(self.pointer, threads)
            self._used = threads

    def close(self) -> None:
        if self.pointer:
            ggml("ggml_backend_free", None, P)(self.pointer)
            self.pointer = self._interrupt = None


def device_function(name: str, *arguments: Any) -> Any:
    """Of the CPU device, asked of it by name: its library may be one of many, loaded for this very processor."""
    registry = ggml("ggml_backend_dev_backend_reg", P, P)(cpu_device())
    address = ggml("ggml_backend_reg_get_proc_address", P, P, ctypes.c_char_p)(registry, name.encode())
    return ctypes.CFUNCTYPE(None, *arguments)(address)


class Pass:
    """The graph of a pass of `n` tokens with logits for `rows` of them."""

    def __init__(self, model: GraphModel, kv: Layout, n: int, rows: int, bucket: Hashable) -> None:
        d = model.dimensions
        self.n, self._first = n, n - rows
        self.g = Graph(d.layers)
        start, positions, wanted = self._start(self.g, d), self.g.input(I32, n), self.g.input(I32, rows)
        own = kv.inputs(self.g, n, bucket)
        self._inputs = (start, positions, wanted, *own)
        forward = Forward(self.g, d, model.weights, positions, n, partial(kv.attend, self.g, own))
        self._result = self.g.output(self._compute(forward, start, wanted))
        self.logits: NDArray[np.float32]

    def _start(self, g: Graph, _d: Dimensions) -> Any:
        return g.input(I32, self.n)

    def _compute(self, forward: Forward, start: Any, rows: Any) -> Any:
        return forward.rest(forward.embed(start), 0, rows)

    def bind(self) -> None:
        """After its tensors were given their places."""
        self.logits = rows_of(self._result)
        self.tokens, self.positions, self.rows, *self.own = (self.g.array(pointer) for pointer in self._inputs)

    def fill(self, tokens: Inputs, positions: Sequence[int]) -> None:
        self.tokens[:] = tokens
        self.positions[:] = positions
        self.rows[:] = np.arange(self._first, self._first + len(self.rows))

    def row(self, i: int) -> NDArray[np.float32]:
        """The logits that follow the i-th token of the pass, or, with i below 0, of the last ones."""
        row: NDArray[np.float32] = self.logits[i - self._first if i >= 0 else i]
        return row


Kind = TypeVar("Kind", bound=Pass)
Make = Callable[[GraphModel, Layout, int, int, Hashable], Kind]


class Passes:
    """Of one model on one KV cache; to be made anew when the cache moves. `most` and `most_rows`: of the largest pass,
    which `make` makes."""

    def __init__(
        self, model: GraphModel, kv: Layout, processor: Processor, most: int, most_rows: int, make: Make[Pass]
    ) -> None:
        self.model, self.kv, self.processor = model, kv, processor
        self._kept: OrderedDict[Hashable, Pass] = OrderedDict()
        self._places = ggml("ggml_gallocr_new", P, P)(plain_memory())
        largest = make(model, kv, most, min(most, most_rows), kv.largest_bucket)
        fits = ggml("ggml_gallocr_reserve", ctypes.c_bool, P, P)(self._places, largest.g.graph)
        largest.g.free()
        if not fits:
            self.close()
            raise MemoryError
        self._size = self.reserved

    def run(self, make: Make[Kind], tokens: Inputs, positions: Sequence[int], seen: Seen, rows: int, size: int) -> Kind:
        """A pass as `make` makes it, of tokens behind `size` others, each seeing those and what `seen` says. Raises
        Stopped."""
        n = len(tokens)
        bucket = self.kv.bucket(size + n)
        ready = self._find(make, n, rows, bucket)
        ready.fill(tokens, positions)
        self.kv.fill(ready.own, size, seen)
        self.processor.run(ready.g.graph)
        return ready

    def _find(self, make: Make[Kind], n: int, rows: int, bucket: Hashable) -> Kind:
        key = (make, n, rows, bucket)
        found = cast("Kind | None", self._kept.get(key))
        if found is None:
            found = make(self.model, self.kv, n, rows, bucket)
            self._place(found)
            self._kept[key] = found
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)[1].g.free()
        self._kept.move_to_end(key)
        return found

    def _place(self, made: Pass) -> None:
        if not ggml("ggml_gallocr_alloc_graph", ctypes.c_bool, P, P)(self._places, made.g.graph):
            raise MemoryError
        if self.reserved != self._size:  # the block has moved: other passes point to where it was
            self._forget()
            self._size = self.reserved
        made.bind()

    @property
    def reserved(self) -> int:
        """Bytes for what passes compute."""
        return int(ggml("ggml_gallocr_get_buffer_size", SIZE, P, INT)(self._places, 0))

    def _forget(self) -> None:
        for kept in self._kept.values():
            kept.g.free()
        self._kept.clear()

    def close(self) -> None:
        self._forget()
        if self.is_open:
            ggml("ggml_gallocr_free", None, P)(self._places)
            self._places = None

    @property
    def is_open(self) -> bool:
        return self._places is not None
