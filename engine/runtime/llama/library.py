"""llama.cpp itself: imported once, its log routed to ours. Everything else in this room takes `lib` from here.

Which kernels compute: in a packaged app there is a library for each kind of processor, and the best is loaded.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# How long OpenMP's threads spin at a barrier before they sleep; libgomp reads it when it is loaded. Its default,
# 300,000 turns, wastes whole time slices where another program wants a core. 60,000 turns are as fast as that on a
# quiet machine (20,000 read prompts 2 % slower with a 1.5B model, 3,000 write a tenth slower) and read prompts faster
# on a busy one (`python -m benchmarks.busy`).
os.environ.setdefault("GOMP_SPINCOUNT", "60000")

from llama_cpp import llama_cpp as lib

from engine.machine import PRETENDED, pretended_processor
from engine.runtime.capi.log import LibraryLog
from models.failures import Failure

__all__ = ["build", "kernels", "lib", "log", "variant"]

VARIANT = re.compile(r"(?:lib)?ggml-cpu-(\w+)\.(?:so|dll|dylib)$")
COMPILED_IN = "compiled in"


@dataclass(frozen=True, slots=True)
class Kernels:
    """`name`: of the variant, such as zen4; `path`: of its library, None where the kernels are llama.cpp's own."""

    name: str
    path: Path | None


def load_kernels(llama: Any) -> Kernels:
    """Those that are best for this processor, from beside `llama`, the library.

    Before the first model. Raises Failure if the processor can run none of them."""
    folder = Path(llama._name).parent
    variants = {found[1]: path for path in sorted(folder.iterdir()) if (found := VARIANT.match(path.name))}
    pretended = pretended_processor()
    if pretended and pretended not in variants:
        sentence = f"This llama.cpp has no kernels of its own for {pretended}: {PRETENDED} is for the packaged one."
        raise Failure("no_kernels", sentence)
    if not variants:
        return Kernels(COMPILED_IN, None)
    # From the copy of ggml that llama.cpp uses: another one would have an empty registry. 9 ms.
    ggml = ctypes.CDLL(str(folder / "ggml.dll")) if sys.platform == "win32" else llama
    load = ggml.ggml_backend_load if pretended else ggml.ggml_backend_load_all_from_path
    load.restype, load.argtypes = ctypes.c_void_p if pretended else None, [ctypes.c_char_p]
    load(os.fsencode(variants[pretended] if pretended else folder))
    loaded = [Kernels(name, path) for name, path in variants.items() if is_loaded(path)]
    if not loaded:
        sentence = "The engine's files are damaged: none of its kernels can be loaded. Install Chickadee again."
        raise Failure("no_kernels", sentence, f"{folder}: {', '.join(variants)}")
    return loaded[0]


def is_loaded(path: Path) -> bool:
    """Does this process hold the library?"""
    if sys.platform == "win32":
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.GetModuleHandleW.restype, kernel.GetModuleHandleW.argtypes = ctypes.c_void_p, [ctypes.c_wchar_p]
        return bool(kernel.GetModuleHandleW(path.name))
    try:
        ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return False
    return True


def build() -> str:
    """What makes two builds of the library different: version and processor features compiled in."""
    from llama_cpp import __version__

    return f"llama-cpp-python {__version__}; {lib.llama_print_system_info().decode().strip()}"


log = LibraryLog("engine.llama")
_on_log = lib.llama_log_callback(log.write)
lib.llama_log_set(_on_log, ctypes.c_void_p(0))
variant = load_kernels(lib._lib)
kernels = variant.name
lib.llama_backend_init()
