"""The forward pass of a Llama, Qwen2 or Qwen3 model as a ggml graph, and such passes ready to run.

A graph for each number of tokens, of logits rows and of cells is built once and used again. All share one block of
memory for what they compute, made for the largest of them: a pass is valid until the next runs.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from engine.runtime.capi.context import free_cores
from engine.runtime.capi.library import AbortCallback
from engine.runtime.graph.dimensions import Dimensions
from engine.runtime.graph.ggml import ABORTED, I32, INT, SUCCESS, Graph, plain_memory, rows_of
from engine.runtime.graph.layout import Layout, Projected, Rotate, Seen
from engine.runtime.graph.model import GraphModel, Weights
from engine.runtime.llama.library import ggml
from engine.runtime.llama.repack import SIZE, P, cpu_device
from engine.runtime.llama.runtime import Interrupt
from engine.stop import StopFlag, Stopped

Attention = Callable[[int, Projected, Rotate], Any]  # of a layer → values by head


@dataclass(frozen=True, slots=True)
class Forward:
    """Of n tokens at `positions` [n]. `attention` keeps each layer's keys and values and attends to those of before.

    `layers` may begin and end anywhere: what goes through them, the hidden state, is [embedding, n]."""

    g: Graph
    d: Dimensions
    weights: Weights
    positions: Any
    n: int
    attention: Attention

    def embed(self, tokens: Any) -> Any:
        """Hidden states of token ids, [embedding, n]."""
        return self.g.get_rows(self.weights.find("token_embd.weight"), tokens)

    def layer(self, layer: int, x: Any, rows: Any = None) -> Any:
        """`rows`: the only tokens that are wanted of its result."""
        g, name = self.g, f"blk.{layer}."
        h = self._norm(f"{name}attn_norm", x)
        q = self._rotate(self._heads(f"{name}attn_q", h, self.d.heads))
        k = self._heads(f"{name}attn_k", h, self.d.kv_heads)
        v = self._heads(f"{name}attn_v", h, self.d.kv_heads)
        a = g.reshape_2d(self.attention(layer, Projected(q, k, v), self._rotate), self.d.head * self.d.heads, self.n)
        a = self._linear(f"{name}attn_output", a)
        if rows is not None:
            a, x = g.get_rows(a, rows), g.get_rows(x, rows)
        x = g.add(a, x)
        h = self._norm(f"{name}ffn_norm", x)
        up = self._linear(f"{name}ffn_up", h)
        h = g.swiglu_split(self._linear(f"{name}ffn_gate", h), up)
        return g.add(self._linear(f"{name}ffn_down", h), x)

    def through(self, x: Any, first: int, end: int) -> Any:
        """Layers from `first` up to `end`."""
        for layer in range(first, end):
            x = self.layer(layer, x)
        return x

    def rest(self, x: Any, first: int, rows: Any) -> Any:
        """Layers from `first` on and the head; what no logits are wanted of ends in the last layer."""
        last = self.d.layers - 1
        return self.logits(self.layer(last, self.through(x, first, last), rows))

    def logits(self, x: Any) -> Any:
        """Of hidden states: final norm and output head, [n_vocab, n]."""
        return self._linear("output", self._norm("output_norm", x))

    def _linear(self, name: str, x: Any) -> Any:
        y, bias = self.g.mul_mat(self.weights.find(f"{name}.weight"), x), self.weights.find(f"{name}.bias")
        return self.g.add(y, bias) if bias else y

    def _norm(self, name: str, x: Any) -> Any:
        return self.g.mul(self.g.rms_norm(x, self.d.epsilon), self.weights.find(f"{name}.weight"))

    def _heads(self, name: str, x: Any, count: int) -> Any:
        """[head, count, n]; Qwen3 norms queries and keys."""
        y = self.g.reshape_3d(self._linear(name, x), self.d.head, count, self.n)
        return self._norm(f"{name}_norm", y) if self.weights.find(f"{name}_norm.weight") else y

    def _rotate(self, y: Any) -> Any:
        d, factors = self.d, self.weights.find("rope_freqs.weight")
        scaling = (d.rope_base, d.rope_scale, 0.0, 1.0, 32.0, 1.0)
        return self.g.rope_ext(y, self.positions, factors, d.head, d.rope_kind, d.n_ctx_train, *scaling)


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
        """Compute a graph. Raises Stopped."""
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
        """End its threads."""
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
        """Before a run: its inputs."""
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
        """Free the graphs and their memory."""
        self._forget()
        if self.is_open:
            ggml("ggml_gallocr_free", None, P)(self._places)
            self._places = None

    @property
    def is_open(self) -> bool:
        """Is there memory to run passes in?"""
        return self._places is not None
