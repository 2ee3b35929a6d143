"""The weights that llama.cpp copies into another order for this processor, found by asking ggml. Loads no model.

A tensor is copied when an extra buffer type of the CPU device (`CPU_REPACK`, AMX, …) supports the operation that the
tensor is used in. This is the test of llama.cpp's `weight_buft_supported` (src/llama-model-loader.cpp), tensor by
tensor, with empty tensors.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
from functools import cache
from typing import Any

from engine.runtime.llama.library import ggml
from models.header import Header
from models.tensors import TensorInfo

EMBEDDING = "token_embd.weight"
HEAD = "output.weight"
LOOKED_UP = ("token_embd.weight", "position_embd.weight", "token_types.weight", "per_layer_token_embd.weight")
CPU_DEVICE = 0  # GGML_BACKEND_DEVICE_TYPE_CPU
F32, I32 = 0, 26  # ggml_type
BATCH = 512  # columns of the tested multiplication, as in llama.cpp
MOST_TENSORS = 4  # of a tested multiplication
EXPERTS_USED = 2  # experts of a mixture that are tested; the result does not depend on their number

P, SIZE, DIM = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64


class InitParams(ctypes.Structure):
    """The parameter struct of ggml_init, taken by value, which no function of ggml builds for us."""

    _fields_ = (("mem_size", SIZE), ("mem_buffer", P), ("no_alloc", ctypes.c_bool))


def repacked_sizes(header: Header) -> dict[str, int]:
    """Return the bytes of each repacked tensor's copy by its name; a tied output head is listed as `output.weight`.

    The header must belong to a file that llama.cpp accepted: ggml aborts on impossible types and shapes.
    """
    sizes = {name: copy_bytes(tensor.type, tensor.shape) for name, tensor in multiplied_weights(header).items()}
    return {name: size for name, size in sizes.items() if size}


def multiplied_weights(header: Header) -> dict[str, TensorInfo]:
    """Return the weights used in matrix products by name; a tied output head is listed as `output.weight`."""
    tensors = {tensor.name: tensor for tensor in header.tensors}
    used = {name: tensor for name, tensor in tensors.items() if name not in LOOKED_UP}
    if HEAD not in tensors and EMBEDDING in tensors:
        used[HEAD] = tensors[EMBEDDING]
    # RWKV-7 has weights of four dimensions, which are multiplied element by element.
    return {name: t for name, t in used.items() if len(t.shape) in (2, 3) and name.endswith(".weight")}


@cache
def copy_bytes(type: int, shape: tuple[int, ...]) -> int:
    """Return the size in bytes of the repacked copy that ggml would make of such a tensor; 0 if it makes none.

    ggml takes the first extra buffer type that can multiply by the tensor.
    """
    kind = extra_buffer_type(type, shape)
    if kind is None:
        return 0
    with contextlib.closing(TensorContext(1)) as context:
        return _stored_bytes(kind, context.new(type, *shape))


def _stored_bytes(kind: Any, tensor: Any) -> int:
    """Return the bytes of a tensor in a buffer of this type."""
    return int(ggml("ggml_backend_buft_get_alloc_size", SIZE, P, P)(kind, tensor))


@cache
def extra_buffer_type(type: int, shape: tuple[int, ...]) -> Any:
    """Return the first extra buffer type that can multiply with such a tensor, None if there is none."""
    return next((kind for kind in extra_buffer_types() if _can_multiply(kind, type, shape)), None)


def _can_multiply(kind: Any, type: int, shape: tuple[int, ...]) -> bool:
    """Return whether ggml can multiply with such a tensor in a buffer of this type.

    ggml inspects the buffer that the tensor lies in, so this allocates a real one; it is never touched and takes only
    addresses. A mixture of experts is tested with a few of them.
    """
    shape = (*shape[:2], *(min(EXPERTS_USED, experts) for experts in shape[2:]))
    with contextlib.closing(TensorContext(MOST_TENSORS)) as context:
        weight = context.new(type, *shape)
        buffer = ggml("ggml_backend_buft_alloc_buffer", P, P, SIZE)(kind, _stored_bytes(kind, weight))
        if not buffer:  # then the library could not make the copy either
            return False
        try:
            start = ggml("ggml_backend_buffer_get_base", P, P)(buffer)
            ggml("ggml_backend_tensor_alloc", ctypes.c_int, P, P, P)(buffer, weight, start)
            product = _product(context, weight, shape)
            return bool(ggml("ggml_backend_dev_supports_op", ctypes.c_bool, P, P)(cpu_device(), product))
        finally:
            ggml("ggml_backend_buffer_free", None, P)(buffer)


def _product(context: TensorContext, weight: Any, shape: tuple[int, ...]) -> Any:
    """Return the operation on the weight: a matrix product, or one per expert if the weight has three dimensions."""
    if len(shape) == 2:
        columns = context.new(F32, shape[0], BATCH)
        return ggml("ggml_mul_mat", P, P, P, P)(context.pointer, weight, columns)
    used = min(EXPERTS_USED, shape[2])
    columns, experts = context.new(F32, shape[0], used, BATCH), context.new(I32, used, BATCH)
    return ggml("ggml_mul_mat_id", P, P, P, P, P)(context.pointer, weight, columns, experts)


class TensorContext:
    """A ggml context for the descriptions of up to `count` tensors, without their data.

    A graph of up to `graph_nodes` nodes fits beside them.
    """

    def __init__(self, count: int, graph_nodes: int = 0) -> None:
        size = tensor_bytes() * count + (graph_bytes(graph_nodes) if graph_nodes else 0)
        self.pointer = ggml("ggml_init", P, InitParams)(InitParams(size, None, True))
        assert self.pointer, size

    def new(self, type: int, *shape: int) -> Any:
        """Create a tensor; `shape` names its fastest dimension first."""
        sizes = (DIM * len(shape))(*shape)
        return ggml("ggml_new_tensor", P, P, ctypes.c_int, ctypes.c_int, P)(self.pointer, type, len(shape), sizes)

    def close(self) -> None:
        """Free the context with its tensors."""
        ggml("ggml_free", None, P)(self.pointer)


def tensor_bytes() -> int:
    """Return the bytes that a tensor takes in a context, not counting its data."""
    return int(ggml("ggml_tensor_overhead", SIZE)())


def graph_bytes(nodes: int) -> int:
    """Return the bytes that the description of a graph with this number of nodes takes."""
    return int(ggml("ggml_graph_overhead_custom", SIZE, SIZE, ctypes.c_bool)(nodes, False))


@cache
def cpu_device() -> Any:
    """Return ggml's CPU device."""
    return ggml("ggml_backend_dev_by_type", P, ctypes.c_int)(CPU_DEVICE)


@cache
def extra_buffer_types() -> tuple[Any, ...]:
    """Return the buffer types in which the CPU device stores weights in another order, best first."""
    address = device_address("ggml_backend_dev_get_extra_bufts")
    if not address:
        return ()
    listed = ctypes.CFUNCTYPE(ctypes.POINTER(P), P)(address)(cpu_device())
    return tuple(itertools.takewhile(bool, (listed[i] for i in itertools.count()))) if listed else ()


def device_address(name: str) -> Any:
    """Return the address of a function of the CPU backend, looked up by name in its registry; None if it has none.

    The CPU backend's library is chosen at run time for this processor, so its symbols cannot be linked directly.
    """
    registry = ggml("ggml_backend_dev_backend_reg", P, P)(cpu_device())
    return ggml("ggml_backend_reg_get_proc_address", P, P, ctypes.c_char_p)(registry, name.encode())
