"""llama.cpp with kernels compiled for each kind of processor; it chooses among them when it starts."""

from __future__ import annotations

from compiled_wheel import CompiledWheel
from llama_wheel import BUILD_OPTIONS, COMPILED_LOCK

# No version numbers in library names: wheels have no symbolic links, so each name would be a full copy.
VARIANTS_OPTIONS = (
    f"{BUILD_OPTIONS} -DGGML_NATIVE=OFF -DGGML_BACKEND_DL=ON -DGGML_CPU_ALL_VARIANTS=ON"
    " -DCMAKE_PLATFORM_NO_VERSIONED_SONAME=ON"
)

VARIANTS = CompiledWheel(
    "llama-cpp-python", "llama.cpp", COMPILED_LOCK, 8, 1_000_000_000, VARIANTS_OPTIONS, portable=True
)
