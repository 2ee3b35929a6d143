"""llama.cpp for Windows, compiled on Linux by mingw, with kernels for each kind of processor."""

from __future__ import annotations

from compiled_wheel import CompiledWheel
from llama_wheel import COMPILED_LOCK
from steps import ROOT


class WindowsWheel(CompiledWheel):
    """Wheel for 64-bit Windows that is compiled here."""

    def environment(self) -> dict[str, str]:
        return super().environment() | {"_PYTHON_HOST_PLATFORM": "win-amd64"}  # the wheel's name says so, too


WINDOWS_LLAMA = WindowsWheel(
    "llama-cpp-python",
    "llama.cpp for Windows",
    COMPILED_LOCK,
    minutes=11,
    memory=1_000_000_000,
    cmake=ROOT / "packaging" / "windows" / "llama.cmake",
    portable=True,
)
