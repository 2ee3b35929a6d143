"""Which weights llama.cpp copies into another order for this processor, asked of ggml itself. Loads nothing.

A tensor is copied when an extra buffer type of the CPU device (`CPU_REPACK`, AMX, …) supports the operation it is used
in: the test of llama.cpp's `weight_buft_supported` (src/llama-model-loader.cpp), tensor by tensor, with empty tensors.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
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
EXPERTS_USED = 2  # of a mixture of experts; the answer does not depend on it

P, SIZE, DIM = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64


class InitParams(ctypes.Structure):
    """What ggml_init is given, by value: part of its signature, which no other function spares us."""

    _fields_ = (("mem_size", SIZE), ("mem_buffer", P), ("no_alloc", ctypes.c_bool))


def repacked_sizes(header: Header) -> dict[str, int]:
    """Bytes of the copy of each repacked tensor by its name; a tied output head is listed as `output.weight`.

    The header must be of a file that llama.cpp accepted: ggml aborts on impossible types and shapes."""
    known: dict[tuple[int, tuple[int, ...]], int] = {}
    sizes = {}
    for name, tensor in multiplied(header).items():
        key = (tensor.type, tensor.shape)
        if key not in known:
            known[key] = copy_bytes(tensor)
        sizes[name] = known[key]
    return {name: size for name, size in sizes.items() if size}


def multiplied(header: Header) -> dict[str, TensorInfo]:
    """The weights that are multiplied with; a tied output head is listed as `output.weight`."""
    tensors = {tensor.name: tensor for tensor in header.tensors}
    used = {name: tensor for name, tensor in tensors.items() if name not in LOOKED_UP}
    if HEAD not in tensors and EMBEDDING in tensors:
        used[HEAD] = tensors[EMBEDDING]
    return {name: t for name, t in used.items() if len(t.shape) >= 2 and name.endswith(".weight")}


def copy_bytes(tensor: TensorInfo) -> int:
    """Bytes of the tensor in the first extra buffer type that can multiply with it, 0 if there is none."""
    kind = extra_buffer_type(tensor)
    if kind is None:
        return 0
    with _graph() as graph:
        return int(ggml("ggml_backend_buft_get_alloc_size", SIZE, P, P)(kind, _empty(graph, tensor.type, tensor.shape)))


def extra_buffer_type(tensor: TensorInfo) -> Any:
    """The first extra buffer type that can multiply with the tensor, None if there is none."""
    return next((kind for kind in extra_buffer_types() if _multiplies(kind, tensor)), None)


def _multiplies(kind: Any, tensor: TensorInfo) -> bool:
    """ggml looks at the buffer that the tensor lies in: a real one, which is never touched, so that it takes addresses
    only. Of a mixture of experts a few are enough."""
    shape = (*tensor.shape[:2], *(min(EXPERTS_USED, experts) for experts in tensor.shape[2:]))
    with _graph() as graph:
        weight = _empty(graph, tensor.type, shape)
        size = ggml("ggml_backend_buft_get_alloc_size", SIZE, P, P)(kind, weight)
        buffer = ggml("ggml_backend_buft_alloc_buffer", P, P, SIZE)(kind, size)
        if not buffer:  # nor could the library make the copy
            return False
        try:
            start = ggml("ggml_backend_buffer_get_base", P, P)(buffer)
            ggml("ggml_backend_tensor_alloc", ctypes.c_int, P, P, P)(buffer, weight, start)
            product = _product(graph, weight, shape)
            return bool(ggml("ggml_backend_dev_supports_op", ctypes.c_bool, P, P)(cpu_device(), product))
        finally:
            ggml("ggml_backend_buffer_free", None, P)(buffer)


def _empty(graph: Any, kind: int, shape: tuple[int, ...]) -> Any:
    """A tensor without data."""
    sizes = (DIM * len(shape))(*shape)
    return ggml("ggml_new_tensor", P, P, ctypes.c_int, ctypes.c_int, P)(graph, kind, len(shape), sizes)


def _product(graph: Any, weight: Any, shape: tuple[int, ...]) -> Any:
    """The operation on the weight: a matrix product, or one per expert when the weight has three dimensions."""
    if len(shape) == 2:
        columns = ggml("ggml_new_tensor_2d", P, P, ctypes.c_int, DIM, DIM)(graph, F32, shape[0], BATCH)
        return ggml("ggml_mul_mat", P, P, P, P)(graph, weight, columns)
    used = min(EXPERTS_USED, shape[2])
    columns = ggml("ggml_new_tensor_3d", P, P, ctypes.c_int, DIM, DIM, DIM)(graph, F32, shape[0], used, BATCH)
    experts = ggml("ggml_new_tensor_2d", P, P, ctypes.c_int, DIM, DIM)(graph, I32, used, BATCH)
    return ggml("ggml_mul_mat_id", P, P, P, P, P)(graph, weight, columns, experts)


def new_context(room: int) -> Any:
    """A ggml context with so many bytes for descriptions of tensors and graphs, and none for data."""
    context = ggml("ggml_init", P, InitParams)(InitParams(room, None, True))
    assert context, room
    return context


@contextlib.contextmanager
def _graph() -> Iterator[Any]:
    """A ggml context for a handful of tensors without data."""
    graph = new_context(8 * ggml("ggml_tensor_overhead", SIZE)())
    try:
        yield graph
    finally:
        ggml("ggml_free", None, P)(graph)


@cache
def cpu_device() -> Any:
    """ggml's CPU device."""
    return ggml("ggml_backend_dev_by_type", P, ctypes.c_int)(CPU_DEVICE)


@cache
def extra_buffer_types() -> tuple[Any, ...]:
    """The CPU device's ways to store weights in another order, best first."""
    registry = ggml("ggml_backend_dev_backend_reg", P, P)(cpu_device())
    name = b"ggml_backend_dev_get_extra_bufts"
    address = ggml("ggml_backend_reg_get_proc_address", P, P, ctypes.c_char_p)(registry, name)
    if not address:
        return ()
    listed = ctypes.CFUNCTYPE(ctypes.POINTER(P), P)(address)(cpu_device())
    found: list[Any] = []
    while listed and listed[len(found)]:
        found.append(listed[len(found)])
    return tuple(found)
