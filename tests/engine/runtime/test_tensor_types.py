"""The table of tensor types (models/tensor_types.py) against the pinned llama.cpp, which it describes."""

from __future__ import annotations

import ctypes

from engine.runtime.graph.dimensions import TYPES
from engine.runtime.llama.library import ggml, open_library
from models.tensor_types import FILE_TYPES, TENSOR_TYPES, TensorType


def test_the_table_has_every_type_of_the_library_with_its_sizes():
    ask_name = ggml("ggml_type_name", ctypes.c_char_p, ctypes.c_int)
    ask_block = ggml("ggml_blck_size", ctypes.c_int64, ctypes.c_int)
    ask_size = ggml("ggml_type_size", ctypes.c_size_t, ctypes.c_int)
    count = open_library().GGML_TYPE_COUNT
    sizes = {number: (ask_block(number), ask_size(number)) for number in range(count)}
    present = [number for number, size in sizes.items() if size != (0, 0)]  # the others were removed from the library
    assert {n: TensorType(ask_name(n).decode().upper(), *sizes[n]) for n in present} == TENSOR_TYPES


def test_the_table_has_every_kind_of_file_of_the_library():
    kinds = {
        name.removeprefix("LLAMA_FTYPE_").removeprefix("ALL_").removeprefix("MOSTLY_"): value
        for name, value in vars(open_library()).items()
        if name.startswith("LLAMA_FTYPE_") and name != "LLAMA_FTYPE_GUESSED"
    }
    assert kinds == {name: number for number, name in FILE_TYPES.items()}


def test_our_graph_takes_the_types_with_which_the_library_multiplies():
    products = {number for number in TENSOR_TYPES if ask_product(number)}
    assert products == TYPES


def ask_product(number: int) -> bool:
    """Return whether ggml's processor backend has a product of weights of this type."""
    traits = ggml("ggml_get_type_traits_cpu", ctypes.c_void_p, ctypes.c_int)(number)
    _from_float, product = (ctypes.c_void_p * 2).from_address(traits)
    return bool(product)
