"""Can ik_llama.cpp compute this model on this computer? Asked of files and processor: the library is not loaded."""

from __future__ import annotations

import ctypes
import mmap
import platform
import sys
from importlib.util import find_spec
from pathlib import Path

from engine.machine import CPU_INFO, processor_features
from models.header import Header

LIBRARIES = {"win32": "llama.dll", "darwin": "libllama.dylib"}

# By the wheel's instructions (0.1.5, disassembled: no BMI, no AVX-512).
X86 = ("avx2", "fma", "f16c", "popcnt")
# Without dot products the library leaves its own kernels out and is no faster than llama.cpp. Apple's chips have them.
ARM = ("asimddp",)
WINDOWS_AVX2 = 40  # PF_AVX2_INSTRUCTIONS_AVAILABLE

# ggml_type: the two projects number new types independently; of these it is sure that they are the same.
SAME_TYPES = {0, 1, 2, 3, *range(6, 9), *range(10, 15), *range(16, 24), *range(24, 31), 39}


def refusal(header: Header) -> str:
    """The sentence that says why not; empty if it can."""
    library = library_file()
    if library is None:
        return "ik_llama.cpp is not installed: there is no wheel of it for this computer."
    missing = missing_features()
    if missing:
        return f"ik_llama.cpp needs a processor with {', '.join(missing).upper()}."
    if not knows(library, header.architecture):
        return f"ik_llama.cpp does not know the architecture “{header.architecture}” yet."
    if any(tensor.type not in SAME_TYPES for tensor in header.tensors):
        return "ik_llama.cpp does not know how this file's weights are quantised."
    return ""


def library_file() -> Path | None:
    """Where the library lies, None if it is not installed."""
    found = find_spec("ik_llama_cpp")
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(found.submodule_search_locations[0]) / "lib" / LIBRARIES.get(sys.platform, "libllama.so")
    return path if path.exists() else None


def missing_features() -> list[str]:
    """What the wheel needs of the processor and this one lacks."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        needed: tuple[str, ...] = X86
    elif machine == "aarch64":
        needed = ARM
    else:
        return []
    if sys.platform == "win32":
        has_avx2 = ctypes.windll.kernel32.IsProcessorFeaturePresent(WINDOWS_AVX2)
        return [] if has_avx2 else ["avx2"]
    if not CPU_INFO.exists():
        return []
    features = processor_features()
    return [feature for feature in needed if feature not in features]


def knows(library: Path, architecture: str) -> bool:
    """Is the architecture's name among the strings in the library? It has no function that tells."""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return bool(architecture) and data.find(architecture.encode() + b"\0") >= 0
