"""Our native code for ik_llama.cpp (native/*.cpp): loading it in front of the library, checking it, calling it.

Set-up compiles it on Linux. Without it ik_llama.cpp computes the same results, but more slowly, and stopping a pass is
less safe.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CDLL, POINTER, c_bool, c_char, c_char_p, c_float, c_int, c_size_t, c_void_p
from typing import Any

import numpy as np

from engine.native_files import FOLDER
from engine.runtime.capi.library import declare
from engine.runtime.capi.own_code import NO_PRODUCTS, PRODUCT_SETS, ProductSet, checksum_of, load_in_front
from engine.stop import StopFlag, Stopped

log = logging.getLogger("engine.ik")

PACKAGE = "ik-llama-cpp-python"
FILE = FOLDER / "ik.so"

# Functions as native/chickadee_ik.hpp declares them: name, result, arguments.
FUNCTIONS: tuple[tuple[str, Any, tuple[Any, ...]], ...] = (
    ("chickadee_version", c_char_p, ()),
    ("chickadee_start", c_bool, (c_void_p, c_int)),
    ("chickadee_pass_new", c_void_p, (c_void_p,)),
    ("chickadee_pass_free", None, (c_void_p,)),
    ("chickadee_pass_begin", None, (c_void_p,)),
    ("chickadee_pass_end", c_bool, (c_void_p,)),
    ("chickadee_tied_head", c_void_p, (c_void_p,)),
)
PRODUCTS: tuple[tuple[str, Any, tuple[Any, ...]], ...] = (
    ("chickadee_products_replace", None, (c_bool,)),
    ("chickadee_products_replaced", c_bool, ()),
    ("chickadee_products_room", c_size_t, (c_int,)),
    ("chickadee_attention_room", c_size_t, 6 * (c_int,)),
    ("output_head_room", c_size_t, (c_int, c_int)),
    ("output_head_group", c_int, ()),
    ("output_head_split", c_int, (c_void_p, c_int)),
    ("output_head_forget", None, (c_int,)),
    ("output_head_rough", None, (c_int, c_bool)),
    ("output_head_finish", c_int, (c_int, c_int, c_void_p, c_int)),
    ("output_head_deviations", POINTER(c_float), (c_int, c_int)),
)
# ggml_backend_sched_eval_callback: a node of the graph; true to ask before, false after it; the callback's own data.
EvalCallback = ctypes.CFUNCTYPE(c_bool, c_void_p, c_bool, c_void_p)


class Native:
    """The loaded native code.

    `products` are those of our matrix products that compute, None if none do. `checksum` distinguishes two builds of
    the code.
    """

    def __init__(self, code: CDLL, products: ProductSet | None, checksum: str) -> None:
        self.code = code
        self.products = products
        self.checksum = checksum
        self.goes_on = EvalCallback(("chickadee_pass_goes_on", code))


def preload_native() -> CDLL | None:
    """Load our code where the dynamic linker finds it first; must run before ik_llama.cpp's library is loaded.

    Returns None if the code does not exist, cannot be loaded, or was compiled for another version of the library.
    """
    return load_in_front(FILE, "ik_llama.cpp", PACKAGE, declare_functions, "chickadee_version", log)


def declare_functions(code: CDLL) -> CDLL:
    """Declare results and arguments of the code's functions. Raises AttributeError if one is missing."""
    functions = FUNCTIONS + (PRODUCTS if hasattr(code, PRODUCTS[0][0]) else ())
    for name, result, arguments in functions:
        declare(code, name, result, *arguments)
    return code


def start_native(code: CDLL | None, library: CDLL) -> Native | None:
    """Start our code beside `library`, which is loaded by now.

    Returns None if there is no code, or if the library's types are not those of the headers that it was compiled with.
    """
    if code is None:
        return None
    products = next(iter(product_sets(code)), None)
    if code.chickadee_start(library._handle, products.number if products else NO_PRODUCTS):
        return Native(code, products, checksum_of(FILE))
    log.warning("This ik_llama.cpp is another than its version says: Chickadee's native code leaves it alone.")
    return None


def product_sets(code: CDLL) -> list[ProductSet]:
    """Return those of our sets of products that this processor can compute, the fastest first."""
    return [products for products in PRODUCT_SETS if hasattr(code, PRODUCTS[0][0]) and products.is_computable]


class StoppablePass:
    """Passes of one context that `stop` ends between two parts of their graphs, without any Python inside the pass."""

    def __init__(self, native: Native, stop: StopFlag, params: Any) -> None:
        """Set the callback in `params`, the llama_context_params of the context that is to be made."""
        self._code = native.code
        self._flag: Any = (c_char * len(stop.text)).from_buffer(stop.text)  # keeps the bytes in place
        self._pass: int | None = native.code.chickadee_pass_new(ctypes.addressof(self._flag))
        if not self._pass:
            raise MemoryError
        params.cb_eval, params.cb_eval_user_data = native.goes_on, self._pass

    @contextmanager
    def running(self, _context: Any, _tokens: int) -> Iterator[None]:
        """Run the block, which computes a pass, so that the pass can be stopped. Raises Stopped if it was.

        A stopped pass ends as if it were complete, but its logits are meaningless.
        """
        self._code.chickadee_pass_begin(self._pass)
        try:
            yield
        finally:
            stopped = self._code.chickadee_pass_end(self._pass)
        if stopped:
            raise Stopped

    def close(self) -> None:
        """Free the pass; its context must be closed before."""
        self._code.chickadee_pass_free(self._pass)
        self._pass = self._flag = None


class OutputHead:
    """An output head of which a step reads only two thirds (native/output_head.hpp).

    Works for Q6_K weights where our products compute. A pass of up to four tokens reads only the weights' upper bits
    and leaves rough logits. The largest logits are computed in full when they are read, and all of them when a whole
    row is read.
    """

    def __init__(self, native: Native, number: int, rows: int) -> None:
        self.group = int(native.code.output_head_group())  # rows of weights that are computed together
        self._code, self._number, self._groups = native.code, number, rows // self.group

    @classmethod
    def create(cls, native: Native | None, tensor: int | None, n_tokens: int) -> OutputHead | None:
        """Rearrange a head's weights in place: the ggml_tensor `tensor` with `n_tokens` rows.

        Returns None if the weights are not of this kind or no products of ours compute.
        """
        if native is None or not native.products or not tensor:
            return None
        number = native.code.output_head_split(tensor, n_tokens)
        return cls(native, number, n_tokens) if number >= 0 else None

    def finish(self, row: int, logits: int, count: int) -> int:
        """Make the `count` largest logits of the last pass's row `row` exact, and all larger ones.

        A `count` of 0 makes the whole row exact. `logits` is the address of the row's logits. Returns the number of
        rows of weights that were computed again for that.
        """
        return int(self._code.output_head_finish(self._number, row, logits, count))

    def deviations(self, row: int) -> np.ndarray:
        """Return standard deviations of the errors in the last pass's row `row`, one for each `group` of logits.

        A deviation of 0 means exact. Works only for a rough row; the array is valid until the next pass.
        """
        return np.ctypeslib.as_array(self._code.output_head_deviations(self._number, row), (self._groups,))

    def allow_rough(self, on: bool) -> None:
        """Allow or forbid the next passes to leave logits rough; must be called between passes."""
        self._code.output_head_rough(self._number, on)

    def close(self) -> None:
        """Release the head; must be called before the weights are freed."""
        self._code.output_head_forget(self._number)
