"""llama.cpp as set-up compiles it for this computer."""

from __future__ import annotations

import sys

from compiled_wheel import CompiledWheel
from steps import ROOT

COMPILED_LOCK = ROOT / "packaging" / "compiled.lock"

# Without the install folders every library is packed three times. LLAVA is libmtmd, for pictures; for videos it would
# start programs, which the engine must not. AMX, which no laptop has, is off: GCC 12's _tile_loadconfig declares only 8
# of the 64 bytes that it reads, so the compiler does not write the others, and the first matrix product on a processor
# with AMX is a general protection fault. Microsoft's compiler has no AMX, and would lose its own flags (/EHsc).
GCC_FLAGS = "" if sys.platform == "win32" else "-DCMAKE_CXX_FLAGS=-U__AMX_INT8__ "
BUILD_OPTIONS = (
    f"{GCC_FLAGS}-DLLAVA_BUILD=ON -DMTMD_VIDEO=OFF -DCMAKE_INSTALL_BINDIR=llama_cpp/lib"
    " -DCMAKE_INSTALL_LIBDIR=llama_cpp/lib -DCMAKE_INSTALL_INCLUDEDIR=llama_cpp/include"
)

LLAMA = CompiledWheel("llama-cpp-python", "llama.cpp", COMPILED_LOCK, 6, 1_000_000_000, BUILD_OPTIONS)
