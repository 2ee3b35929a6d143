"""Which weights llama.cpp copies into another order for this processor, asked of ggml itself. Loads nothing.

A tensor is copied when an extra buffer type of the CPU device (`CPU_REPACK`, AMX, …) supports the operation it is used
in: the test of llama.cpp's `weight_buft_supported` (src/llama-model-loader.cpp), tensor by tensor, with empty tensors.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from engine.runtime.llama.library import lib, variant
from models.header import Header
from models.tensors import TensorInfo

EMBEDDING = "token_embd.weight"
HEAD = "output.weight"
LOOKED_UP = ("token_embd.weight", "position_embd.weight", "token_types.weight", "per_layer_token_embd.weight")
CPU_DEVICE = 0  # GGML_BACKEND_DEVICE_TYPE_CPU
F32, I32 = 0, 26  # ggml_type
BUFFER_FIELD = 8  # offset of `buffer` in struct ggml_tensor, after `type` and its padding
BATCH = 512  # columns of the tested multiplication, as in llama.cpp
EXPERTS_USED = 2  # of a mixture of experts; the answer does not depend on it

P, SIZE, DIM = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64


class InitParams(ctypes.Structure):
    """struct ggml_init_params."""

    _fields_ = (("mem_size", SIZE), ("mem_buffer", P), ("no_alloc", ctypes.c_bool))


@cache
def ggml(name: str, result: Any, *arguments: Any) -> Any:
    """A function of ggml from the copy that llama.cpp uses: another copy would have an empty device registry."""
    libraries = [lib._lib]
    if sys.platform == "win32":  # elsewhere a library's handle also finds what it depends on
        folder = Path(lib._lib._name).parent
        libraries += [ctypes.CDLL(str(folder / file)) for file in ("ggml.dll", "ggml-base.dll")]
    if variant.path:  # loaded by llama.cpp already, which does not link to it
        libraries.append(ctypes.CDLL(str(variant.path)))
    function = next(getattr(library, name) for library in libraries if hasattr(library, name))
    function.restype, function.argtypes = result, list(arguments)
    return function


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
        return int(ggml("ggml_backend_buft_get_alloc_size", SIZE, P, P)(kind, _empty(graph, tensor)))


def extra_buffer_type(tensor: TensorInfo) -> Any:
    """The first extra buffer type that can multiply with the tensor, None if there is none."""
    with _graph() as graph:
        weight = _empty(graph, tensor)
        product = _product(graph, weight, tensor.shape)
        buffer_field = P.from_address(weight + BUFFER_FIELD)
        for kind in extra_buffer_types():
            buffer = ggml("ggml_backend_buft_alloc_buffer", P, P, SIZE)(kind, 0)
            buffer_field.value = buffer
            supported = ggml("ggml_backend_dev_supports_op", ctypes.c_bool, P, P)(cpu_device(), product)
            buffer_field.value = None
            ggml("ggml_backend_buffer_free", None, P)(buffer)
            if supported:
                return kind
    return None


def _empty(graph: Any, tensor: TensorInfo) -> Any:
    """The tensor without data."""
    return ggml("ggml_new_tensor", P, P, ctypes.c_int, ctypes.c_int, P)(
        graph, tensor.type, len(tensor.shape), (DIM * len(tensor.shape))(*tensor.shape)
    )


def _product(graph: Any, weight: Any, shape: tuple[int, ...]) -> Any:
    """The operation on the weight: a matrix product, or one per expert when the weight has three dimensions."""
    if len(shape) == 2:
        columns = ggml("ggml_new_tensor_2d", P, P, ctypes.c_int, DIM, DIM)(graph, F32, shape[0], BATCH)
        return ggml("ggml_mul_mat", P, P, P, P)(graph, weight, columns)
    used = min(EXPERTS_USED, shape[2])
    columns = ggml("ggml_new_tensor_3d", P, P, ctypes.c_int, DIM, DIM, DIM)(graph, F32, shape[0], used, BATCH)
    experts = ggml("ggml_new_tensor_2d", P, P, ctypes.c_int, DIM, DIM)(graph, I32, used, BATCH)
    return ggml("ggml_mul_mat_id", P, P, P, P, P)(graph, weight, columns, experts)


@contextlib.contextmanager
def _graph() -> Iterator[Any]:
    """A ggml context for a handful of tensors without data."""
    room = 8 * ggml("ggml_tensor_overhead", SIZE)()
    graph = ggml("ggml_init", P, InitParams)(InitParams(room, None, True))
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
