"""Compiles our own matrix products for ik_llama.cpp (engine/runtime/ik/products.cpp). Standard library only.

They make it faster and are no condition: where they cannot be compiled, a sentence says so and set-up goes on."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from steps import ROOT, VENV, say

SOURCES = [
    ROOT / "engine" / "runtime" / "ik" / name for name in ("products.cpp", "output_head.hpp", "lanes.hpp")
]  # it includes these
LIBRARY = VENV / "kernels" / "products.so"  # where engine/runtime/ik/products.py looks
INSTRUCTIONS = ("avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni")


def compile_products(library: Path = LIBRARY) -> None:
    """For any processor: which one can run them is asked when they are loaded."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return
    compiler = os.environ.get("CXX") or shutil.which("c++") or "c++"
    library.parent.mkdir(exist_ok=True)
    made = library.with_suffix(".new")
    command = [*compiler.split(), "-std=c++20", "-O3", *(f"-m{name}" for name in INSTRUCTIONS), "-fPIC", "-shared"]
    # No runtime of C++ is needed, and AVX-512's own headers warn.
    command += ["-fvisibility=hidden", "-fno-exceptions", "-fno-rtti", "-nostdlib", "-w", "-s"]
    try:
        done = subprocess.run([*command, "-o", made, SOURCES[0]], capture_output=True, text=True)
        failure = (done.stderr.strip() or f"{compiler} failed") if done.returncode else ""
    except OSError as error:
        failure = str(error)
    if failure:
        for file in (made, library):  # those of an older source may not be right any more
            file.unlink(missing_ok=True)
        say(f"products for AVX-512 were not compiled, ik_llama.cpp's own compute instead: {failure.splitlines()[-1]}")
        return
    made.replace(library)
