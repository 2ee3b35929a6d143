"""The weights that llama.cpp copies into another order for this processor, found by asking ggml. Loads no model.

A tensor is copied when an extra buffer type of the CPU device (`CPU_REPACK`, AMX, …) supports the operation that the
tensor is used in. This is the test of llama.cpp's `weight_buft_supported` (src/llama-model-loader.cpp), tensor by
tensor, with empty tensors.
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
EXPERTS_USED = 2  # experts of a mixture that are tested; the result does not depend on their number

P, SIZE, DIM = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64


class InitParams(ctypes.Structure):
    """The parameter struct of ggml_init, taken by value, which no function of ggml builds for us."""

    _fields_ = (("mem_size", SIZE), ("mem_buffer", P), ("no_alloc", ctypes.c_bool))


def repacked_sizes(header: Header) -> dict[str, int]:
    """Return the bytes of each repacked tensor's copy by its name; a tied output head is listed as `output.weight`.

    The header must belong to a file that llama.cpp accepted: ggml aborts on impossible types and shapes.
    """
    known: dict[tuple[int, tuple[int, ...]], int] = {}
    sizes = {}
    for name, tensor in multiplied_weights(header).items():
        key = (tensor.type, tensor.shape)
        if key not in known:
            known[key] = copy_bytes(tensor)
        sizes[name] = known[key]
    return {name: size for name, size in sizes.items() if size}


def multiplied_weights(header: Header) -> dict[str, TensorInfo]:
    """Return the weights used in matrix products by name; a tied output head is listed as `output.weight`."""
    tensors = {tensor.name: tensor for tensor in header.tensors}
    used = {name: tensor for name, tensor in tensors.items() if name not in LOOKED_UP}
    if HEAD not in tensors and EMBEDDING in tensors:
        used[HEAD] = tensors[EMBEDDING]
    # RWKV-7 has weights of four dimensions, which are multiplied element by element.
    return {name: t for name, t in used.items() if len(t.shape) in (2, 3) and name.endswith(".weight")}


def copy_bytes(tensor: TensorInfo) -> int:
    """Return the size in bytes of the repacked copy that ggml would make of the tensor; 0 if it makes none.

    ggml takes the first extra buffer type that can multiply by the tensor.
    """
    kind = extra_buffer_type(tensor)
    if kind is None:
        return 0
    with _graph() as graph:
        return int(
            ggml("ggml_backend_buft_get_alloc_size", SIZE, P, P)(kind, _empty_tensor(graph, tensor.type, tensor.shape))
        )


def extra_buffer_type(tensor: TensorInfo) -> Any:
    """Return the first extra buffer type that can multiply with the tensor, None if there is none."""
    return next((kind for kind in extra_buffer_types() if _can_multiply(kind, tensor)), None)


def _can_multiply(kind: Any, tensor: TensorInfo) -> bool:
    """Return whether ggml can multiply with the tensor in a buffer of this type.

    ggml inspects the buffer that the tensor lies in, so this allocates a real one; it is never touched and takes only
    addresses. A mixture of experts is tested with a few of them.
    """
    shape = (*tensor.shape[:2], *(min(EXPERTS_USED, experts) for experts in tensor.shape[2:]))
    with _graph() as graph:
        weight = _empty_tensor(graph, tensor.type, shape)
        size = ggml("ggml_backend_buft_get_alloc_size", SIZE, P, P)(kind, weight)
        buffer = ggml("ggml_backend_buft_alloc_buffer", P, P, SIZE)(kind, size)
        if not buffer:  # then the library could not make the copy either
            return False
        try:
            start = ggml("ggml_backend_buffer_get_base", P, P)(buffer)
            ggml("ggml_backend_tensor_alloc", ctypes.c_int, P, P, P)(buffer, weight, start)
            product = _product(graph, weight, shape)
            return bool(ggml("ggml_backend_dev_supports_op", ctypes.c_bool, P, P)(cpu_device(), product))
        finally:
            ggml("ggml_backend_buffer_free", None, P)(buffer)


def _empty_tensor(graph: Any, kind: int, shape: tuple[int, ...]) -> Any:
    """Return a tensor without data."""
    sizes = (DIM * len(shape))(*shape)
    return ggml("ggml_new_tensor", P, P, ctypes.c_int, ctypes.c_int, P)(graph, kind, len(shape), sizes)


def _product(graph: Any, weight: Any, shape: tuple[int, ...]) -> Any:
    """Return the operation on the weight: a matrix product, or one per expert if the weight has three dimensions."""
    if len(shape) == 2:
        columns = ggml("ggml_new_tensor_2d", P, P, ctypes.c_int, DIM, DIM)(graph, F32, shape[0], BATCH)
        return ggml("ggml_mul_mat", P, P, P, P)(graph, weight, columns)
    used = min(EXPERTS_USED, shape[2])
    columns = ggml("ggml_new_tensor_3d", P, P, ctypes.c_int, DIM, DIM, DIM)(graph, F32, shape[0], used, BATCH)
    experts = ggml("ggml_new_tensor_2d", P, P, ctypes.c_int, DIM, DIM)(graph, I32, used, BATCH)
    return ggml("ggml_mul_mat_id", P, P, P, P, P)(graph, weight, columns, experts)


def new_context(room: int) -> Any:
    """Return a ggml context with `room` bytes for descriptions of tensors and graphs, and none for data."""
    context = ggml("ggml_init", P, InitParams)(InitParams(room, None, True))
    assert context, room
    return context


@contextlib.contextmanager
def _graph() -> Iterator[Any]:
    """Yield a ggml context for a handful of tensors without data."""
    graph = new_context(8 * ggml("ggml_tensor_overhead", SIZE)())
    try:
        yield graph
    finally:
        ggml("ggml_free", None, P)(graph)


@cache
def cpu_device() -> Any:
    """Return ggml's CPU device."""
    return ggml("ggml_backend_dev_by_type", P, ctypes.c_int)(CPU_DEVICE)


@cache
def extra_buffer_types() -> tuple[Any, ...]:
    """Return the buffer types in which the CPU device stores weights in another order, best first."""
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
