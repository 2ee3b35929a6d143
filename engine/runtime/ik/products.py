"""Loads ik_llama.cpp's library with our own matrix products for it in front of it; what they do: products.cpp.

Set-up compiles them on Linux. Without them, and on processors that lack the instructions, the library's own compute."""

from __future__ import annotations

import ctypes
import hashlib
import logging
import sys
from pathlib import Path
from typing import Any

from engine.machine import library_version, processor_features

log = logging.getLogger("engine.ik")

FILE = Path(sys.prefix) / "kernels" / "products.so"  # of the environment, or of the packaged app
KNOWN = ("0.1.5",)  # versions of ik-llama-cpp-python whose structs they know
NEEDED = {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"}

# bool iqk_set_kernels_kquants(int, int, int, std::array<mul_mat_t, 8> &, mul_mat_t &)
SET_KERNELS = "_Z23iqk_set_kernels_kquantsiiiRSt5arrayIPFviPKvmRK8DataInfoiELm8EERS6_"


def binding() -> tuple[Any, ctypes.CDLL | None]:
    """ik_llama_cpp's module of C functions, and our products where they compute.

    They come first: the dynamic linker takes what was there when it loads the library."""
    own = loaded() if are_for_here() else None
    from ik_llama_cpp import _ctypes_api as api

    if own:
        own.products_start.restype = own.products_replaced.restype = ctypes.c_bool
        own.products_start.argtypes = [ctypes.c_void_p]
        if not own.products_start(ctypes.cast(api._lib[SET_KERNELS], ctypes.c_void_p)):
            raise AssertionError("ik_llama.cpp has no products of its own for repacked Q4_K, Q5_K or Q6_K")
    return api, own


def loaded() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(str(FILE), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        log.warning("Chickadee's own products for ik_llama.cpp cannot be loaded: it computes more slowly.")
        log.info("%s", error)
        return None


def are_for_here() -> bool:
    """Do they exist, for this processor and this version of the library?"""
    if not FILE.exists() or library_version("ik-llama-cpp-python") not in KNOWN:
        return False
    return processor_features() >= NEEDED


def checksum_of_products() -> str:
    return hashlib.sha256(FILE.read_bytes()).hexdigest()[:10]
