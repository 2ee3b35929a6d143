"""ggml's C functions as this room calls them: tensors, graphs, buffers, the CPU backend. Knows no model.

ggml checks its arguments by aborting the process: whoever calls these functions has checked them before.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.runtime.llama.library import ggml
from engine.runtime.llama.repack import DIM, SIZE, P, new_context

F32, F16, I32, I64 = 0, 1, 26, 27  # ggml_type
NUMBERS: dict[int, Any] = {F32: np.float32, F16: np.float16, I32: np.int32, I64: np.int64}
ALIGNMENT = 32  # bytes, of a tensor's data
SUCCESS, ABORTED = 0, 1  # ggml_status
WEIGHTS = 1  # GGML_BACKEND_BUFFER_USAGE_WEIGHTS
PRECISE = 10  # GGML_PREC_F32
NODES_PER_LAYER = 64  # more than any layer takes
INT, FLOAT = ctypes.c_int, ctypes.c_float

# The operations of a graph; each gets the ggml context first and returns a tensor.
OPERATIONS: dict[str, tuple[Any, ...]] = {
    "new_tensor_1d": (INT, DIM),
    "new_tensor_2d": (INT, DIM, DIM),
    "get_rows": (P, P),
    "set_rows": (P, P, P),
    "rms_norm": (P, FLOAT),
    "mul": (P, P),
    "add": (P, P),
    "mul_mat": (P, P),
    "swiglu_split": (P, P),
    "argmax": (P,),
    "rope_ext": (P, P, P, INT, INT, INT, FLOAT, FLOAT, FLOAT, FLOAT, FLOAT, FLOAT),
    "flash_attn_ext": (P, P, P, P, FLOAT, FLOAT, FLOAT),
    "permute": (P, INT, INT, INT, INT),
    "reshape_2d": (P, DIM, DIM),
    "reshape_3d": (P, DIM, DIM, DIM),
    "view_1d": (P, DIM, SIZE),
    "view_2d": (P, DIM, DIM, SIZE, SIZE),
    "view_3d": (P, DIM, DIM, DIM, SIZE, SIZE, SIZE),
}


def overhead() -> int:
    """Bytes that a tensor takes in a context, its data aside."""
    return int(ggml("ggml_tensor_overhead", SIZE)())


def shape(pointer: Any) -> tuple[int, int]:
    """Sizes of the two dimensions of a matrix."""
    rows = int(ggml("ggml_nrows", DIM, P)(pointer))
    return int(ggml("ggml_nelements", DIM, P)(pointer)) // rows, rows


def address(pointer: Any) -> int | None:
    """Where a tensor's data lies; None before it has a place."""
    found: int | None = ggml("ggml_get_data", P, P)(pointer)
    return found


def array(pointer: Any, kind: Any, *shape: int) -> NDArray[Any]:
    """A tensor's data, which must lie in plain memory, as an array; slowest dimension first. Valid as long as it."""
    count = int(np.prod(shape))
    raw = (ctypes.c_char * (count * np.dtype(kind).itemsize)).from_address(address(pointer))
    return np.frombuffer(raw, kind, count).reshape(shape)


def rows_of(pointer: Any) -> NDArray[np.float32]:
    """A matrix of F32 as an array, slowest dimension first."""
    width, count = shape(pointer)
    return array(pointer, np.float32, count, width)


class Context:
    """Room for the descriptions of up to `count` tensors, not for their data."""

    def __init__(self, count: int, graph_nodes: int = 0) -> None:
        room = overhead() * count + (graph_bytes(graph_nodes) if graph_nodes else 0)
        self.pointer = new_context(room)

    def new(self, type: int, *shape: int) -> Any:
        """A tensor; its fastest dimension comes first."""
        sizes = (DIM * len(shape))(*shape)
        return ggml("ggml_new_tensor", P, P, INT, INT, P)(self.pointer, type, len(shape), sizes)

    def free(self) -> None:
        """Its tensors are then gone."""
        ggml("ggml_free", None, P)(self.pointer)


class Graph(Context):
    """A graph under construction: `graph.mul_mat(a, b)` is ggml_mul_mat in this graph's context, and so on."""

    def __init__(self, layers: int) -> None:
        nodes = NODES_PER_LAYER * (layers + 1)
        super().__init__(2 * nodes, nodes)
        self._inputs: dict[int, tuple[Any, tuple[int, ...]]] = {}
        self.graph = ggml("ggml_new_graph_custom", P, P, SIZE, ctypes.c_bool)(self.pointer, nodes, False)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in OPERATIONS:
            raise AttributeError(name)
        function, context = operation(name), self.pointer

        def call(*arguments: Any) -> Any:
            return function(context, *arguments)

        setattr(self, name, call)
        return call

    def input(self, type: int, *shape: int) -> Any:
        """A tensor to be filled before each run; its memory is used for other things after its last use."""
        made = self.new(type, *shape)
        ggml("ggml_set_input", None, P)(made)
        self._inputs[made] = NUMBERS[type], tuple(reversed(shape))
        return made

    def array(self, made: Any) -> NDArray[Any]:
        """An input after the graph has got its memory, as an array; slowest dimension first."""
        kind, shape = self._inputs[made]
        if not address(made):  # nothing of the graph asks for it
            return np.zeros(shape, kind)
        return array(made, kind, *shape)

    def expand(self, result: Any) -> Any:
        """Make `result`, and what it needs, part of the graph after all that is part of it already."""
        ggml("ggml_build_forward_expand", None, P, P)(self.graph, result)
        return result

    def output(self, result: Any) -> Any:
        """Like `expand`, for what is read after the run."""
        ggml("ggml_set_output", None, P)(result)
        return self.expand(result)

    def attention(self, q: Any, k: Any, v: Any, mask: Any, scale: float) -> Any:
        """softmax(q·k·scale + mask)·v; q: [head, tokens, heads], k and v: [head, cells, kv-heads], all F16 but q.

        Returns [head, heads, tokens], summed up in F32."""
        result = self.flash_attn_ext(q, k, v, mask, scale, 0.0, 0.0)
        ggml("ggml_prec_set_acc", ctypes.c_bool, P, ctypes.c_int32)(result, PRECISE)
        return result


def graph_bytes(nodes: int) -> int:
    """Bytes that the description of a graph of so many nodes takes."""
    return int(ggml("ggml_graph_overhead_custom", SIZE, SIZE, ctypes.c_bool)(nodes, False))


@cache
def operation(name: str) -> Any:
    """ggml's function of that name."""
    return ggml(f"ggml_{name}", P, P, *OPERATIONS[name])


def plain_memory() -> Any:
    """The buffer type of ordinary memory."""
    return ggml("ggml_backend_cpu_buffer_type", P)()


class Buffer:
    """Memory for all tensors of a context, in a buffer type."""

    def __init__(self, context: Context, kind: Any) -> None:
        """Raises MemoryError."""
        self.pointer = ggml("ggml_backend_alloc_ctx_tensors_from_buft", P, P, P)(context.pointer, kind)
        if not self.pointer:
            raise MemoryError

    def holds_weights(self) -> None:
        """Tell ggml so: it may then choose other kernels."""
        ggml("ggml_backend_buffer_set_usage", None, P, INT)(self.pointer, WEIGHTS)

    def free(self) -> None:
        """Give the memory back."""
        ggml("ggml_backend_buffer_free", None, P)(self.pointer)


class MappedBuffer(Buffer):
    """Memory that exists already, as a buffer to put tensors into."""

    def __init__(self, address: int, size: int) -> None:
        self.pointer = ggml("ggml_backend_cpu_buffer_from_ptr", P, P, SIZE)(address, size)

    def put(self, pointer: Any, address: int) -> None:
        """Let a tensor's data lie at an address within it."""
        ggml("ggml_backend_tensor_alloc", INT, P, P, P)(self.pointer, pointer, address)


def set_data(pointer: Any, address: int, size: int) -> None:
    """Copy a tensor's data into its buffer, which may keep them in another order."""
    ggml("ggml_backend_tensor_set", None, P, P, SIZE, SIZE)(pointer, address, 0, size)


def data_bytes(pointer: Any) -> int:
    """Bytes of a tensor's data."""
    return int(ggml("ggml_nbytes", SIZE, P)(pointer))
