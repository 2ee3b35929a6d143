"""ggml's C functions for tensors, graphs, buffers and the CPU backend, as this package calls them. Knows no model.

ggml checks its arguments by aborting the process, so callers check them first.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.runtime.llama.library import ggml
from engine.runtime.llama.repack import DIM, SIZE, P, TensorContext

F32, F16, I32, I64 = 0, 1, 26, 27  # ggml_type
NUMBERS: dict[int, Any] = {F32: np.float32, F16: np.float16, I32: np.int32, I64: np.int64}
ALIGNMENT = 32  # bytes; tensors' data begin at a multiple
SUCCESS, ABORTED = 0, 1  # ggml_status
WEIGHTS = 1  # GGML_BACKEND_BUFFER_USAGE_WEIGHTS
PRECISE = 10  # GGML_PREC_F32
NODES_PER_LAYER = 64  # upper limit of the operations of a layer
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


def shape(pointer: Any) -> tuple[int, int]:
    """Return a matrix's width and number of rows."""
    rows = int(ggml("ggml_nrows", DIM, P)(pointer))
    return int(ggml("ggml_nelements", DIM, P)(pointer)) // rows, rows


def address(pointer: Any) -> int | None:
    """Return the address of a tensor's data; None before its memory is assigned."""
    data: int | None = ggml("ggml_get_data", P, P)(pointer)
    return data


def array(pointer: Any, kind: Any, *shape: int) -> NDArray[Any]:
    """Return a tensor's data as an array, slowest dimension first, without a copy.

    The data must lie in plain memory; the array is valid as long as the tensor's memory.
    """
    count = int(np.prod(shape))
    raw = (ctypes.c_char * (count * np.dtype(kind).itemsize)).from_address(address(pointer))
    return np.frombuffer(raw, kind, count).reshape(shape)


def rows_of(pointer: Any) -> NDArray[np.float32]:
    """Return an F32 matrix as an array [rows, width]."""
    width, count = shape(pointer)
    return array(pointer, np.float32, count, width)


class Graph(TensorContext):
    """A graph under construction: `graph.mul_mat(a, b)` calls ggml_mul_mat in this graph's context, and so on."""

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
        """Create a tensor that is filled before each run; ggml may reuse its memory after its last use in the run."""
        made = self.new(type, *shape)
        ggml("ggml_set_input", None, P)(made)
        self._inputs[made] = NUMBERS[type], tuple(reversed(shape))
        return made

    def array(self, made: Any) -> NDArray[Any]:
        """Return an input as an array, slowest dimension first, once the graph has got its memory."""
        kind, shape = self._inputs[made]
        if not address(made):  # no operation of the graph reads this input
            return np.zeros(shape, kind)
        return array(made, kind, *shape)

    def expand(self, result: Any) -> Any:
        """Append `result` and the operations that it depends on to the graph, behind the operations already in it."""
        ggml("ggml_build_forward_expand", None, P, P)(self.graph, result)
        return result

    def output(self, result: Any) -> Any:
        """Append `result` like `expand`, and keep its memory readable after the run."""
        ggml("ggml_set_output", None, P)(result)
        return self.expand(result)

    def attention(self, q: Any, k: Any, v: Any, mask: Any, scale: float) -> Any:
        """Compute softmax(q·k·scale + mask)·v with ggml's flash attention, summed up in F32.

        q: [head, tokens, heads] in F32; k and v: [head, cells, kv-heads] in F16; mask in F16. Returns [head, heads,
        tokens].
        """
        result = self.flash_attn_ext(q, k, v, mask, scale, 0.0, 0.0)
        ggml("ggml_prec_set_acc", ctypes.c_bool, P, ctypes.c_int32)(result, PRECISE)
        return result


@cache
def operation(name: str) -> Any:
    """Return ggml's function for an operation of `OPERATIONS`."""
    return ggml(f"ggml_{name}", P, P, *OPERATIONS[name])


def plain_memory() -> Any:
    """Return ggml's buffer type for ordinary memory."""
    return ggml("ggml_backend_cpu_buffer_type", P)()


class Buffer:
    """Memory of a ggml buffer type for all tensors of a context."""

    def __init__(self, context: TensorContext, kind: Any) -> None:
        """Allocate the memory. Raises MemoryError."""
        self.pointer = ggml("ggml_backend_alloc_ctx_tensors_from_buft", P, P, P)(context.pointer, kind)
        if not self.pointer:
            raise MemoryError

    def holds_weights(self) -> None:
        """Mark the buffer as weights for ggml, which may then choose other kernels."""
        ggml("ggml_backend_buffer_set_usage", None, P, INT)(self.pointer, WEIGHTS)

    def clear(self) -> None:
        """Fill the memory with zeros."""
        ggml("ggml_backend_buffer_clear", None, P, ctypes.c_uint8)(self.pointer, 0)

    def free(self) -> None:
        ggml("ggml_backend_buffer_free", None, P)(self.pointer)


class MappedBuffer(Buffer):
    """A ggml buffer over memory that exists already; tensors are placed into it one by one."""

    def __init__(self, address: int, size: int) -> None:
        self.pointer = ggml("ggml_backend_cpu_buffer_from_ptr", P, P, SIZE)(address, size)

    def put(self, pointer: Any, address: int) -> None:
        """Place a tensor's data at an address within the buffer."""
        ggml("ggml_backend_tensor_alloc", INT, P, P, P)(self.pointer, pointer, address)


def set_data(pointer: Any, address: int, size: int) -> None:
    """Copy data into a tensor's buffer, which may store them in another order."""
    ggml("ggml_backend_tensor_set", None, P, P, SIZE, SIZE)(pointer, address, 0, size)


def data_bytes(pointer: Any) -> int:
    """Return the bytes of a tensor's data."""
    return int(ggml("ggml_nbytes", SIZE, P)(pointer))
