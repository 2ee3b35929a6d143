"""llama.cpp itself: imported once, its log routed to ours. Everything else in this room takes `lib` from here."""

from __future__ import annotations

import ctypes
import os

# How long OpenMP's threads spin at a barrier before they sleep; libgomp reads it when it is loaded. Its default,
# 300,000 turns, wastes whole time slices where another program wants a core. 60,000 turns are as fast as that on a
# quiet machine (20,000 read prompts 2 % slower with a 1.5B model, 3,000 write a tenth slower) and read prompts faster
# on a busy one (`python -m benchmarks.busy`).
os.environ.setdefault("GOMP_SPINCOUNT", "60000")

from llama_cpp import llama_cpp as lib

from engine.runtime.capi.log import LibraryLog
from engine.runtime.llama.kernels import load_kernels

__all__ = ["build", "kernels", "lib", "log", "variant"]

log = LibraryLog("engine.llama")
_on_log = lib.llama_log_callback(log.write)
lib.llama_log_set(_on_log, ctypes.c_void_p(0))
variant = load_kernels(lib._lib)
kernels = variant.name
lib.llama_backend_init()


def build() -> str:
    """What makes two builds of the library different: version and processor features compiled in."""
    from llama_cpp import __version__

    return f"llama-cpp-python {__version__}; {lib.llama_print_system_info().decode().strip()}"
