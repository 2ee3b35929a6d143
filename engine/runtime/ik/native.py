"""Our native code for ik_llama.cpp (native/*.cpp): found, put in front of the library, checked, and called.

Set-up compiles it on Linux. Without it ik_llama.cpp computes the same, more slowly, and is stopped with less care."""

from __future__ import annotations

import ctypes
import hashlib
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CDLL, POINTER, c_bool, c_char, c_char_p, c_float, c_int, c_size_t, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.machine import KINDS, library_version, processor_features
from engine.stop import StopFlag, Stopped

log = logging.getLogger("engine.ik")

PACKAGE = "ik-llama-cpp-python"
FILE = Path(sys.prefix) / "kernels" / "ik.so"  # of the environment, or of the packaged app
OTHER_VERSION = "Chickadee's native code is for ik_llama.cpp %s, not for %s, which computes more slowly without."

# As in native/chickadee_ik.hpp: name, result, arguments.
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
    ("output_head_room", c_size_t, (c_int, c_int)),
    ("output_head_group", c_int, ()),
    ("output_head_split", c_int, (c_void_p, c_int)),
    ("output_head_forget", None, (c_int,)),
    ("output_head_rough", None, (c_int, c_bool)),
    ("output_head_finish", c_int, (c_int, c_int, c_void_p, c_int)),
    ("output_head_deviations", POINTER(c_float), (c_int, c_int)),
)
# ggml_backend_sched_eval_callback: of a node of the graph, is it asked or done, and the data beside the callback.
EvalCallback = ctypes.CFUNCTYPE(c_bool, c_void_p, c_bool, c_void_p)


@dataclass(frozen=True, slots=True)
class ProductSet:
    """Our own matrix products for one set of instructions; `number` is what chickadee_start calls it."""

    number: int
    name: str
    needs: frozenset[str]  # of the processor, by Linux' names


# The best first.
PRODUCT_SETS = (
    ProductSet(3, "AVX-512 VNNI", KINDS["avx512_vnni"]),
    ProductSet(2, "AVX-VNNI", KINDS["avx_vnni"]),
    ProductSet(1, "AVX2", KINDS["avx2"]),
)
NO_PRODUCTS = 0


class Native:
    """The loaded code; `products`: which of our own matrix products compute, None if none do; `checksum`: tells two
    builds of it apart."""

    def __init__(self, code: CDLL, products: ProductSet | None, checksum: str) -> None:
        self.code = code
        self.products = products
        self.checksum = checksum
        self.goes_on = EvalCallback(("chickadee_pass_goes_on", code))


def in_front() -> CDLL | None:
    """The code, where the dynamic linker finds it first: before ik_llama.cpp's library is loaded. None if it does not
    exist or is for another version of the library."""
    if not FILE.exists():
        return None
    try:
        code = declared(CDLL(str(FILE)))
        made_for, there = code.chickadee_version().decode(), library_version(PACKAGE)
        if made_for != there:
            log.warning(OTHER_VERSION, made_for, there)
            return None
        return declared(CDLL(str(FILE), mode=ctypes.RTLD_GLOBAL))
    except (OSError, AttributeError) as error:
        log.warning("Chickadee's native code for ik_llama.cpp cannot be loaded, which computes more slowly without.")
        log.info("%s", error)
        return None


def declared(code: CDLL) -> CDLL:
    """Raises AttributeError where a function is missing."""
    here = FUNCTIONS + (PRODUCTS if hasattr(code, PRODUCTS[0][0]) else ())
    for name, result, arguments in here:
        function = getattr(code, name)
        function.restype, function.argtypes = result, arguments
    return code


def started(code: CDLL | None, library: CDLL) -> Native | None:
    """What is in front of `library`, which is loaded by now; None if it has other types than its headers say."""
    if code is None:
        return None
    products = next(iter(product_sets(code)), None)
    if code.chickadee_start(library._handle, products.number if products else NO_PRODUCTS):
        return Native(code, products, hashlib.sha256(FILE.read_bytes()).hexdigest()[:10])
    log.warning("This ik_llama.cpp is another than its version says: Chickadee's native code leaves it alone.")
    return None


def product_sets(code: CDLL) -> list[ProductSet]:
    """Those of our products that this processor can compute, the fastest first."""
    features = processor_features() if hasattr(code, PRODUCTS[0][0]) else frozenset()
    return [products for products in PRODUCT_SETS if features >= products.needs]


class StoppablePass:
    """Passes of one context, which `stop` breaks off between two parts of their graphs; no Python runs meanwhile."""

    def __init__(self, native: Native, stop: StopFlag, params: Any) -> None:
        """`params`: of the context, llama_context_params."""
        self._code = native.code
        self._flag: Any = (c_char * len(stop.text)).from_buffer(stop.text)  # keeps the bytes in place
        self._pass: int | None = native.code.chickadee_pass_new(ctypes.addressof(self._flag))
        if not self._pass:
            raise MemoryError
        params.cb_eval, params.cb_eval_user_data = native.goes_on, self._pass

    @contextmanager
    def running(self, _context: Any, _tokens: int) -> Iterator[None]:
        """Around a pass. Raises Stopped: then it ended as if it were done, and its logits are of no pass."""
        self._code.chickadee_pass_begin(self._pass)
        try:
            yield
        finally:
            stopped = self._code.chickadee_pass_end(self._pass)
        if stopped:
            raise Stopped

    def close(self) -> None:
        """After its context."""
        self._code.chickadee_pass_free(self._pass)
        self._pass = self._flag = None


class OutputHead:
    """An output head of which a step reads two thirds (native/output_head.hpp): Q6_K, where our products compute.

    Of such a head a pass of up to four tokens reads the upper bits. What that gives are rough logits; the largest ones
    are computed in full when somebody asks for them, and all of them when somebody asks for all."""

    def __init__(self, native: Native, number: int, rows: int) -> None:
        self.group = int(native.code.output_head_group())  # rows that are computed together
        self._code, self._number, self._groups = native.code, number, rows // self.group

    @classmethod
    def of(cls, native: Native | None, tensor: int | None, n_tokens: int) -> OutputHead | None:
        """Of the weights `tensor` (a ggml_tensor) of `n_tokens` rows, which are rearranged in place. None where there
        is no such head, or nothing that could compute it."""
        if native is None or not native.products or not tensor:
            return None
        number = native.code.output_head_split(tensor, n_tokens)
        return cls(native, number, n_tokens) if number >= 0 else None

    def finish(self, row: int, logits: int, count: int) -> int:
        """Of the last pass's row `row`, whose logits are at the address `logits`: make the `count` largest exact, and
        all that are larger; all there are if `count` is 0. Returns of how many rows it took the weights."""
        return int(self._code.output_head_finish(self._number, row, logits, count))

    def deviations(self, row: int) -> np.ndarray:
        """Standard deviations of what the last pass's row `row` lacks, one for each `group` of logits; 0: exact.

        Only of a rough row, and valid until the next pass."""
        return np.ctypeslib.as_array(self._code.output_head_deviations(self._number, row), (self._groups,))

    def may_be_rough(self, on: bool) -> None:
        """May passes from now on leave logits rough? To be said between passes."""
        self._code.output_head_rough(self._number, on)

    def close(self) -> None:
        """Before the weights are freed."""
        self._code.output_head_forget(self._number)
