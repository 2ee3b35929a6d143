"""llama.cpp with its kernels compiled for each kind of processor: which of them compute is chosen when it starts."""

from __future__ import annotations

from compiled import Compiled
from prepare import BUILD_OPTIONS, COMPILED_LOCK

# Libraries without version numbers in their names, so that each lies there once: a wheel has no symbolic links.
VARIANTS_OPTIONS = (
    f"{BUILD_OPTIONS} -DGGML_NATIVE=OFF -DGGML_BACKEND_DL=ON -DGGML_CPU_ALL_VARIANTS=ON"
    " -DCMAKE_PLATFORM_NO_VERSIONED_SONAME=ON"
)

VARIANTS = Compiled("llama-cpp-python", "llama.cpp", COMPILED_LOCK, 8, 1_000_000_000, VARIANTS_OPTIONS, portable=True)
