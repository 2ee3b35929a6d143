"""The output head of which a step reads two thirds: where a model has such, and our own products compute it.

Of a Q6_K head a pass of up to four tokens reads the upper bits. What that gives are rough logits; the largest ones are
computed in full when somebody asks for them, and all of them when somebody asks for all. output_head.hpp does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import CDLL, POINTER, c_bool, c_char_p, c_float, c_int, c_int64, c_size_t, c_void_p, create_string_buffer
from typing import Self

import numpy as np

from engine.runtime.ik.library import function, own_products
from models.header import Header

HEAD = b"output.weight"  # a model that has none takes the embeddings' weights, which are not repacked
Q6_K, Q6_K_R4 = 14, 214  # ggml_type, before it is repacked and after
GROUP = 16  # rows of weights that are computed together
SIZES = 16  # bytes before a ggml_tensor's sizes; its type comes first

tensor = function("llama_get_model_tensor", c_void_p, c_void_p, c_char_p)
data = function("ggml_get_data", c_void_p, c_void_p)


def declare(products: CDLL) -> None:
    products.output_head_split.argtypes = [c_void_p, c_int, c_int, c_void_p, c_void_p]
    products.output_head_room.argtypes, products.output_head_room.restype = [c_int, c_int], c_size_t
    products.output_head_scratch.argtypes, products.output_head_scratch.restype = [c_int], c_size_t
    products.output_head_forget.argtypes = [c_int]
    products.output_head_rough.argtypes = [c_int, c_bool]
    products.output_head_finish.argtypes = [c_int, c_int, c_void_p, c_int, c_void_p, c_int]
    products.output_head_deviations.argtypes = [c_int, c_int]
    products.output_head_deviations.restype = POINTER(c_float)


if own_products:
    declare(own_products)


def room_bytes(header: Header) -> int:
    """What such a head of a repacked model takes beside its weights."""
    head = next((tensor for tensor in header.tensors if tensor.name.encode() == HEAD and tensor.type == Q6_K), None)
    return own_products.output_head_room(*head.shape) if own_products and head else 0


class OutputHead:
    """Of the model at `pointer`, whose weights are rearranged in place; it is forgotten before they are freed."""

    def __init__(self, products: CDLL, number: int, rows: int, room: np.ndarray) -> None:
        self._products, self._number = products, number
        self._groups = rows // GROUP
        self._room = room  # the products write there

    @classmethod
    def of(cls, pointer: int, n_tokens: int) -> Self | None:
        """None where there is no such head, or nothing that could compute it."""
        if not own_products or not (found := tensor(pointer, HEAD)):
            return None
        if c_int.from_address(found).value != Q6_K_R4:
            return None
        n, rows, *others = (c_int64 * 4).from_address(found + SIZES)
        if others != [1, 1] or rows != n_tokens:
            return None
        room = np.empty(own_products.output_head_room(n, rows), np.uint8)
        scratch = create_string_buffer(own_products.output_head_scratch(n))
        number = own_products.output_head_split(data(found), n, rows, room.ctypes.data, scratch)
        return cls(own_products, number, rows, room) if number >= 0 else None

    def finish(self, row: int, logits: int, count: int, apart: Sequence[int] = ()) -> int:
        """Of the last pass's row `row`, whose logits are at the address `logits`: make the `count` largest exact, not
        counting those of the tokens `apart`, and all that are larger; all there are if `count` is 0. Returns of how
        many rows it took the weights. Later passes are rough if few are wanted now."""
        tokens = np.fromiter(apart, np.int32, len(apart))
        return int(self._products.output_head_finish(self._number, row, logits, count, tokens.ctypes.data, len(tokens)))

    def deviations(self, row: int) -> np.ndarray:
        """Standard deviations of what the last pass's row `row` lacks, one for each 16 logits; 0 if they are exact.

        Only of a rough row, and valid until the next pass."""
        return np.ctypeslib.as_array(self._products.output_head_deviations(self._number, row), (self._groups,))

    def may_be_rough(self, on: bool) -> None:
        """Between passes."""
        self._products.output_head_rough(self._number, on)

    def close(self) -> None:
        self._products.output_head_forget(self._number)
