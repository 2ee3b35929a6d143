"""llama.cpp itself, opened when it is first asked for something, its log routed to ours.

Everything else in this room takes `lib` from here. Which kernels compute: in a packaged app there is a library for each
kind of processor, and the best is loaded.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from common.failures import Failure
from engine.machine import PRETENDED, pretended_processor
from engine.runtime.capi.library import AbortCallback, LibraryLog, LogCallback, on_demand

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
        raise Failure("no_kernels.for_processor", processor=pretended, variable=PRETENDED)
    if not variants:
        return Kernels(COMPILED_IN, None)
    # From the copy of ggml that llama.cpp uses: another one would have an empty registry. 9 ms.
    ggml = ctypes.CDLL(str(folder / "ggml.dll")) if sys.platform == "win32" else llama
    load = ggml.ggml_backend_load if pretended else ggml.ggml_backend_load_all_from_path
    load.restype, load.argtypes = ctypes.c_void_p if pretended else None, [ctypes.c_char_p]
    load(os.fsencode(variants[pretended] if pretended else folder))
    loaded = [Kernels(name, path) for name, path in variants.items() if is_loaded(path)]
    if not loaded:
        raise Failure("no_kernels.damaged", f"{folder}: {', '.join(variants)}")
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


log = LibraryLog("engine.llama")
_on_log = LogCallback(log.write)  # the library keeps no reference to it


@cache
def opened() -> Any:
    """llama_cpp's module of C functions; what it needs of the processor is loaded. Raises Failure if that cannot be."""
    from llama_cpp import llama_cpp

    llama_cpp.llama_log_set(_on_log, ctypes.c_void_p(0))
    variant()
    llama_cpp.llama_backend_init()
    return llama_cpp


lib = on_demand(opened)


@cache
def variant() -> Kernels:
    """The kernels that compute; chosen when the library is opened."""
    from llama_cpp import llama_cpp

    return load_kernels(llama_cpp._lib)


def kernels() -> str:
    """Their name."""
    opened()
    return variant().name


def build() -> str:
    """What makes two builds of the library different: version and processor features compiled in."""
    features: bytes = opened().llama_print_system_info()
    from llama_cpp import __version__

    return f"llama-cpp-python {__version__}; {features.decode().strip()}"


@cache
def ggml(name: str, result: Any, *arguments: Any) -> Any:
    """A function of ggml from the copy that llama.cpp uses: another copy would have an empty device registry."""
    function = next(getattr(library, name) for library in _libraries() if hasattr(library, name))
    function.restype, function.argtypes = result, list(arguments)
    return function


def _libraries() -> list[ctypes.CDLL]:
    """Where ggml's functions may lie, all of them loaded already."""
    own: ctypes.CDLL = opened()._lib
    libraries = [own]
    if sys.platform == "win32":  # elsewhere a library's handle also finds what it depends on
        libraries += [ctypes.CDLL(str(Path(own._name).parent / file)) for file in ("ggml.dll", "ggml-base.dll")]
    chosen = variant().path
    if chosen:  # llama.cpp does not link to it
        libraries.append(ctypes.CDLL(str(chosen)))
    return libraries


@cache
def is_stopped() -> Any:
    """What ggml asks after every node of a graph, of a stop flag's `text`: libc's strlen, which returns 0 or 1 then.

    So no Python runs inside a pass: a callback in Python costs 0.5 ms per token on a 30-layer model, a tenth of the
    step."""
    libc = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
    return AbortCallback(("strlen", libc))
