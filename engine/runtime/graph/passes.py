"""The forward pass of a Llama, Qwen2 or Qwen3 model as a ggml graph, and a cache of such graphs ready to run.

One graph is built for each combination of tokens, logits rows and cells, and is then reused. All graphs share one block
of memory for intermediate results, sized for the largest pass: a pass's results are valid until the next pass runs.
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
from engine.runtime.graph.ggml import ABORTED, F32, I32, INT, SUCCESS, Graph, plain_memory, rows_of
from engine.runtime.graph.kv_layout import KVLayout, Projected, Rotate, Seen
from engine.runtime.graph.model import GraphModel, Weights
from engine.runtime.llama.library import ggml
from engine.runtime.llama.repack import SIZE, P, cpu_device, device_address
from engine.runtime.llama.runtime import Interrupt
from engine.stop import StopFlag, Stopped

Attention = Callable[[int, Projected, Rotate], Any]  # (layer, projections, rotation of keys) → [head, heads, n]


@dataclass(frozen=True, slots=True)
class Forward:
    """Builder of a forward pass's operations for n tokens at `positions` [n].

    `attention` stores a layer's new keys and values and attends to the cached ones. A pass may begin and end at any
    layer; between layers runs the hidden state, [embedding, n].
    """

    g: Graph
    d: Dimensions
    weights: Weights
    positions: Any
    n: int
    attention: Attention

    def embed(self, tokens: Any) -> Any:
        """Look up the hidden states of token ids, [embedding, n]."""
        return self.g.get_rows(self.weights.find("token_embd.weight"), tokens)

    def layer(self, layer: int, x: Any, rows: Any = None) -> Any:
        """Compute one layer; `rows` limits its result to the tokens at these indices."""
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

    def run_layers(self, x: Any, first: int, end: int) -> Any:
        """Compute the layers from `first` up to, not including, `end`."""
        for layer in range(first, end):
            x = self.layer(layer, x)
        return x

    def finish(self, x: Any, first: int, rows: Any) -> Any:
        """Compute the layers from `first` on and the output head.

        Tokens outside `rows`, which need no logits, are dropped in the last layer.
        """
        last = self.d.layers - 1
        return self.logits(self.layer(last, self.run_layers(x, first, last), rows))

    def logits(self, x: Any) -> Any:
        """Apply the final norm and the output head to hidden states; return [n_vocab, n]."""
        return self._linear("output", self._norm("output_norm", x))

    def _linear(self, name: str, x: Any) -> Any:
        y, bias = self.g.mul_mat(self.weights.find(f"{name}.weight"), x), self.weights.find(f"{name}.bias")
        return self.g.add(y, bias) if bias else y

    def _norm(self, name: str, x: Any) -> Any:
        return self.g.mul(self.g.rms_norm(x, self.d.epsilon), self.weights.find(f"{name}.weight"))

    def _heads(self, name: str, x: Any, count: int) -> Any:
        """Project hidden states to heads, [head, count, n]; Qwen3 also norms queries and keys."""
        y = self.g.reshape_3d(self._linear(name, x), self.d.head, count, self.n)
        return self._norm(f"{name}_norm", y) if self.weights.find(f"{name}_norm.weight") else y

    def _rotate(self, y: Any) -> Any:
        d, factors = self.d, self.weights.find("rope_freqs.weight")
        scaling = (d.rope_base, d.rope_scale, 0.0, 1.0, 32.0, 1.0)
        return self.g.rope_ext(y, self.positions, factors, d.head, d.rope_kind, d.n_ctx_train, *scaling)


Inputs = Sequence[int] | NDArray[np.float32]  # inputs of a pass: token ids, or hidden states [n, embedding]
MAX_CACHED_PASSES = 32  # the description of each graph takes half a megabyte


class Processor:
    """ggml's CPU backend with its threads; `stop` interrupts a running pass.

    If it `gives_way`, passes use fewer threads while other programs keep cores busy.
    """

    def __init__(self, threads: int, gives_way: bool, stop: StopFlag) -> None:
        self._threads, self._gives_way, self._used = threads, gives_way, 0
        self._interrupt: Interrupt | None = Interrupt(stop)
        self.stop = stop
        self.pointer = ggml("ggml_backend_dev_init", P, P, ctypes.c_char_p)(cpu_device(), None)
        self._set_threads = ctypes.CFUNCTYPE(None, P, INT)(device_address("ggml_backend_set_n_threads"))
        set_callback = ctypes.CFUNCTYPE(None, P, AbortCallback, P)(device_address("ggml_backend_set_abort_callback"))
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
        """Whether the last pass ran with fewer threads than usual."""
        return self._used < self._threads

    def _use(self, threads: int) -> None:
        if threads != self._used:
            self._set_threads(self.pointer, threads)
            self._used = threads

    def close(self) -> None:
        """End the backend's threads."""
        if self.pointer:
            ggml("ggml_backend_free", None, P)(self.pointer)
            self.pointer = self._interrupt = None


@dataclass(frozen=True, slots=True)
class LayerRange:
    """Factory of passes through the layers from `first` up to, not including, `end`; None stands for the last layer.

    A pass that begins above the first layer takes hidden states in place of token ids. One that ends below the last
    layer keeps the hidden states behind it in `states`, and computes logits only if `logits`.
    """

    first: int = 0
    end: int | None = None
    logits: bool = True

    def __call__(self, model: GraphModel, kv: KVLayout, n: int, rows: int, bucket: Hashable) -> GraphPass:
        return GraphPass(model, kv, n, rows, bucket, self)


ALL_LAYERS = LayerRange()


class GraphPass:
    """The graph of a pass of `n` tokens that computes logits for the last `rows` of them."""

    def __init__(
        self,
        model: GraphModel,
        kv: KVLayout,
        n: int,
        rows: int,
        bucket: Hashable,
        layers: LayerRange = ALL_LAYERS,
    ) -> None:
        d = model.dimensions
        self.n, self._first, self._layers = n, n - rows, layers
        self._behind: Any = None  # hidden states behind the last layer of the range
        self.g = Graph(d.layers)
        start, positions, wanted = self._start(self.g, d), self.g.input(I32, n), self.g.input(I32, rows)
        kv_inputs = kv.create_inputs(self.g, n, bucket)
        self._inputs = (start, positions, wanted, *kv_inputs)
        forward = Forward(self.g, d, model.weights, positions, n, partial(kv.attend, self.g, kv_inputs))
        self._result = self.g.output(self._compute(forward, start, wanted))
        self.logits: NDArray[np.float32]
        self.states: NDArray[np.float32]  # [n, embedding]

    def _start(self, g: Graph, d: Dimensions) -> Any:
        return g.input(F32, d.embedding, self.n) if self._layers.first else g.input(I32, self.n)

    def _compute(self, forward: Forward, start: Any, rows: Any) -> Any:
        first, end = self._layers.first, self._layers.end
        x = start if first else forward.embed(start)
        if end is None:
            return forward.finish(x, first, rows)
        x = forward.run_layers(x, first, end)
        self._behind = forward.g.output(x)
        return forward.logits(forward.g.get_rows(x, rows)) if self._layers.logits else x

    def bind(self) -> None:
        """Create arrays over the inputs and results; called once the tensors' memory is assigned."""
        self.logits = rows_of(self._result)
        if self._behind is not None:
            self.states = rows_of(self._behind)
        self.tokens, self.positions, self.rows, *self.kv_inputs = (self.g.array(pointer) for pointer in self._inputs)

    def fill_inputs(self, tokens: Inputs, positions: Sequence[int]) -> None:
        """Fill the pass's own inputs before a run; the KV cache fills the others."""
        self.tokens[:] = tokens
        self.positions[:] = positions
        self.rows[:] = np.arange(self._first, self._first + len(self.rows))


AnyPass = TypeVar("AnyPass", bound=GraphPass)
PassFactory = Callable[[GraphModel, KVLayout, int, int, Hashable], AnyPass]


class PassRunner:
    """Cache of built passes for one model and one KV cache, in shared memory for intermediate results.

    It must be replaced when the KV cache is reallocated, because graphs hold addresses.
    """

    def __init__(
        self,
        model: GraphModel,
        kv: KVLayout,
        processor: Processor,
        most: int,
        most_rows: int,
        make: PassFactory[GraphPass],
    ) -> None:
        """Reserve memory for the largest pass, which `make` builds: `most` tokens with `most_rows` logits rows.

        Raises MemoryError.
        """
        self.model, self.kv, self.processor = model, kv, processor
        self._cached: OrderedDict[Hashable, GraphPass] = OrderedDict()
        self._allocator = ggml("ggml_gallocr_new", P, P)(plain_memory())
        largest = make(model, kv, most, min(most, most_rows), kv.room)
        fits = ggml("ggml_gallocr_reserve", ctypes.c_bool, P, P)(self._allocator, largest.g.graph)
        largest.g.close()
        if not fits:
            self.close()
            raise MemoryError
        self._size = self.reserved_bytes

    def run(
        self, make: PassFactory[AnyPass], tokens: Inputs, positions: Sequence[int], seen: Seen, rows: int, size: int
    ) -> AnyPass:
        """Run a pass that `make` builds over tokens behind `size` cached ones; return the pass with its results.

        Each token sees all cached ones, and those of the new ones that `seen` marks. Raises Stopped.
        """
        n = len(tokens)
        bucket = self.kv.bucket(size + n)
        ready = self._cached_pass(make, n, rows, bucket)
        ready.fill_inputs(tokens, positions)
        self.kv.fill_inputs(ready.kv_inputs, size, seen)
        self.processor.run(ready.g.graph)
        return ready

    def _cached_pass(self, make: PassFactory[AnyPass], n: int, rows: int, bucket: Hashable) -> AnyPass:
        key = (make, n, rows, bucket)
        ready = cast("AnyPass | None", self._cached.get(key))
        if ready is None:
            ready = make(self.model, self.kv, n, rows, bucket)
            self._assign_memory(ready)
            self._cached[key] = ready
            if len(self._cached) > MAX_CACHED_PASSES:
                self._cached.popitem(last=False)[1].g.close()
        self._cached.move_to_end(key)
        return ready

    def _assign_memory(self, new: GraphPass) -> None:
        if not ggml("ggml_gallocr_alloc_graph", ctypes.c_bool, P, P)(self._allocator, new.g.graph):
            raise MemoryError
        if self.reserved_bytes != self._size:  # the block has moved, and other passes hold its old address
            self._free_passes()
            self._size = self.reserved_bytes
        new.bind()

    @property
    def reserved_bytes(self) -> int:
        """Bytes reserved for intermediate results."""
        return int(ggml("ggml_gallocr_get_buffer_size", SIZE, P, INT)(self._allocator, 0))

    def _free_passes(self) -> None:
        for cached in self._cached.values():
            cached.g.close()
        self._cached.clear()

    def close(self) -> None:
        """Free the graphs and their shared memory."""
        self._free_passes()
        if self.is_open:
            ggml("ggml_gallocr_free", None, P)(self._allocator)
            self._allocator = None

    @property
    def is_open(self) -> bool:
        """Whether there is memory to run passes in."""
        return self._allocator is not None
