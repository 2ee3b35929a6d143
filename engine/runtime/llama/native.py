"""Our native code for llama.cpp (native/*.cpp): products with weights of one to two bits, in front of ggml's own."""

from __future__ import annotations

import logging
from ctypes import CDLL, CFUNCTYPE, c_bool, c_char_p, c_int, c_int64, c_void_p

from engine.native_files import FOLDER
from engine.runtime.capi.library import declare
from engine.runtime.capi.own_code import NO_PRODUCTS, PRODUCT_SETS, ProductSet, checksum_of, load_in_front

log = logging.getLogger("engine.llama")

PACKAGE = "llama-cpp-python"
FILE = FOLDER / "llama.so"
DeviceCheck = CFUNCTYPE(c_bool, c_void_p, c_bool, c_void_p)  # ggml_backend_sched_eval_callback


class Native:
    """The loaded native code; `products` are those of our matrix products that compute, None if none do."""

    def __init__(self, code: CDLL, products: ProductSet | None) -> None:
        self.code = code
        self.products = products
        self.checksum = checksum_of(FILE)
        self.device_check = DeviceCheck(("chickadee_llama_device_check", code))

    def start(self, kernels: CDLL, products: ProductSet | None) -> bool:
        """Let `products` compute in front of ggml's `kernels`; False if these are not those of our headers."""
        return bool(self.code.chickadee_llama_start(kernels._handle, products.number if products else NO_PRODUCTS))


def preload_native() -> CDLL | None:
    """Load our code where the dynamic linker finds it first; must run before llama.cpp's library is loaded.

    Returns None if the code does not exist, cannot be loaded, or was compiled for another version of the library.
    """
    return load_in_front(FILE, "llama.cpp", PACKAGE, declare_functions, "chickadee_llama_version", log)


def declare_functions(code: CDLL) -> CDLL:
    """Declare results and arguments of the code's functions. Raises AttributeError if one is missing."""
    declare(code, "chickadee_llama_version", c_char_p)
    declare(code, "chickadee_llama_start", c_bool, c_void_p, c_int)
    declare(code, "chickadee_llama_replace", None, c_bool)
    declare(code, "chickadee_llama_replaced", c_bool)
    declare(code, "chickadee_llama_device_check", c_bool, c_void_p, c_bool, c_void_p)
    matrices = [c_int, c_int, *4 * [c_int64], *3 * [c_void_p]]
    declare(code, "chickadee_llama_product", c_bool, *matrices, c_int, c_int)
    return code


def start_native(code: CDLL | None, kernels: CDLL) -> Native | None:
    """Start our code in front of ggml's loaded `kernels`, with the fastest products that this processor can compute.

    Returns None if there is no code, or if the library's types are not those of the headers that it was compiled with.
    """
    if code is None:
        return None
    native = Native(code, next((products for products in PRODUCT_SETS if products.is_computable), None))
    if native.start(kernels, native.products):
        return native
    log.warning("This llama.cpp is another than its version says: Chickadee's native code leaves it alone.")
    return None
