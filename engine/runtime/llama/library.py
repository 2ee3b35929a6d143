"""llama.cpp itself, opened when a function of it is first used, with its log routed to ours.

The other modules of this package take `lib` from here. A packaged app has one library of kernels for each kind of
processor, and the best one is loaded.
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
from engine.machine import PROCESSOR_VARIABLE, pretended_processor
from engine.runtime.capi.library import AbortCallback, LibraryLog, LogCallback, declare, on_demand
from engine.runtime.llama.native import PACKAGE, Native, preload_native, start_native

VARIANT = re.compile(r"(?:lib)?ggml-cpu-(\w+)\.(?:so|dll|dylib)$")
COMPILED_IN = "compiled in"


@dataclass(frozen=True, slots=True)
class Kernels:
    """The kernels that compute.

    `name` is their variant, such as zen4. `path` is their library, or None if they are compiled into llama.cpp.
    """

    name: str
    path: Path | None


def load_kernels(llama: Any) -> Kernels:
    """Load the best kernels for this processor from beside the library `llama`, and return them.

    Must run before the first model is loaded. Raises Failure if the processor can run none of them.
    """
    folder = Path(llama._name).parent
    variants = {match[1]: path for path in sorted(folder.iterdir()) if (match := VARIANT.match(path.name))}
    pretended = pretended_processor()
    if pretended and pretended not in variants:
        raise Failure("no_kernels.for_processor", processor=pretended, variable=PROCESSOR_VARIABLE)
    if not variants:
        return Kernels(COMPILED_IN, None)
    # Use the copy of ggml that llama.cpp uses: another copy would have an empty registry. This takes 9 ms.
    ggml = ctypes.CDLL(str(folder / "ggml.dll")) if sys.platform == "win32" else llama
    if pretended:
        declare(ggml, "ggml_backend_load", ctypes.c_void_p, ctypes.c_char_p)(os.fsencode(variants[pretended]))
    else:
        declare(ggml, "ggml_backend_load_all_from_path", None, ctypes.c_char_p)(os.fsencode(folder))
    loaded = [Kernels(name, path) for name, path in variants.items() if is_loaded(path)]
    if not loaded:
        raise Failure("no_kernels.damaged", f"{folder}: {', '.join(variants)}")
    return loaded[0]


def is_loaded(path: Path) -> bool:
    """Return whether this process has the library loaded."""
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
_on_log = LogCallback(log.write)  # kept here, because the library holds no Python reference to it


@cache
def open_library() -> Any:
    """Load llama_cpp and the kernels for this processor, and return its module of C functions.

    Raises Failure if no kernels fit.
    """
    llama_cpp = _module()
    llama_cpp.llama_log_set(_on_log, ctypes.c_void_p(0))
    native()
    llama_cpp.llama_backend_init()
    return llama_cpp


@cache
def _preloaded() -> ctypes.CDLL | None:
    return preload_native()


def _module() -> Any:
    """Return llama_cpp's module of C functions, loaded behind our code."""
    _preloaded()
    from llama_cpp import llama_cpp

    return llama_cpp


lib = on_demand(open_library)


@cache
def loaded_kernels() -> Kernels:
    """Return the variant of llama.cpp's kernels, such as zen4, that was chosen for this processor and loaded."""
    return load_kernels(_module()._lib)


@cache
def native() -> Native | None:
    """Return our code in front of the library, or None."""
    path = loaded_kernels().path
    return start_native(_preloaded(), ctypes.CDLL(str(path)) if path else _module()._lib)


def kernels() -> str:
    """Return the name of the kernels that compute."""
    open_library()
    return loaded_kernels().name


def build() -> str:
    """Return what distinguishes two builds: version, processor features compiled in, and products of ours."""
    features: bytes = open_library().llama_print_system_info()
    from llama_cpp import __version__

    own_code = native()
    products = f" with {own_code.products.name} products {own_code.checksum}" if own_code and own_code.products else ""
    return f"{PACKAGE} {__version__}{products}; {features.decode().strip()}"


@cache
def ggml(name: str, result: Any, *arguments: Any) -> Any:
    """Return a function of ggml from the copy that llama.cpp uses; another copy would have an empty device registry."""
    library = next(library for library in _libraries() if hasattr(library, name))
    return declare(library, name, result, *arguments)


def _libraries() -> list[ctypes.CDLL]:
    """Return the libraries that may hold ggml's functions, all of them loaded already."""
    own: ctypes.CDLL = open_library()._lib
    libraries = [own]
    if sys.platform == "win32":  # elsewhere a library's handle also finds functions of the libraries it depends on
        libraries += [ctypes.CDLL(str(Path(own._name).parent / file)) for file in ("ggml.dll", "ggml-base.dll")]
    kernels_path = loaded_kernels().path
    if kernels_path:  # llama.cpp does not link to this library
        libraries.append(ctypes.CDLL(str(kernels_path)))
    return libraries


@cache
def stop_check() -> Any:
    """Return the C function that ggml calls after every node of a graph: libc's strlen, on a stop flag's `text`.

    strlen returns 0 or 1 there. So no Python runs inside a pass: a callback in Python costs 0.5 ms per token on a
    30-layer model, a tenth of the step.
    """
    libc = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
    return AbortCallback(("strlen", libc))
