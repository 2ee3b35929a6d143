"""Compiles our native code in front of ik_llama.cpp and llama.cpp (engine/runtime/*/native). Standard library only.

The native code makes the libraries faster and is optional: if it cannot be compiled, set-up says so and goes on.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from compiled_wheel import CompiledWheel
from llama_wheel import LLAMA
from native import IK
from steps import CACHE, ROOT, VENV, SetupError, say

OPTIONS = "-std=c++20 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti"
FAST = "-O3"
CHECKED = "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
AVX2 = "-mavx2 -mfma -mf16c"  # ik_llama.cpp's wheel itself requires these
AVX_VNNI = f"{AVX2} -mavxvnni"
# GCC 12 warns of its own AVX-512 headers (its bug 105593).
AVX512 = f"{AVX2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -Wno-maybe-uninitialized -Wno-uninitialized"
ONLY_X86 = ("x86_64",)
ALL_MACHINES = ("x86_64", "aarch64")


@dataclass(frozen=True)
class Unit:
    """Source file that is compiled by itself with its `options`.

    Whether the processor can run it is checked when it is loaded.
    """

    name: str
    options: str = ""
    machines: tuple[str, ...] = ONLY_X86


@dataclass(frozen=True)
class OwnCode:
    """Our code in front of the library of a wheel.

    Attributes:
        room: folder of engine/runtime that has the sources, and name of the compiled file.
        wheel: package whose source archive has the headers.
        ggml: folder of ggml in that archive.
        parts: folders of headers in it, and where they are kept.
        version: macro that holds the package's version.
        installed: headers that the wheel installs, relative to the environment; they must be those of the archive.
    """

    room: str
    wheel: CompiledWheel
    ggml: str
    parts: dict[str, str]
    version: str
    units: tuple[Unit, ...]
    installed: str = ""

    @property
    def folder(self) -> Path:
        return ROOT / "engine" / "runtime" / self.room / "native"

    @property
    def library(self) -> Path:
        """Path of the compiled code, from which engine/runtime/…/native.py loads it."""
        return VENV / "kernels" / f"{self.room}.so"

    @property
    def sources(self) -> list[Path]:
        return sorted(path for path in self.folder.iterdir() if path.suffix in (".cpp", ".hpp"))

    def compile(self, library: Path | None = None, kind: str = FAST) -> None:
        """Compile for every processor of this architecture; do nothing on systems other than Linux.

        Only Linux's linker lets a library's function replace another library's.
        """
        library = library or self.library
        units = [unit for unit in self.units if platform.machine() in unit.machines]
        if sys.platform != "linux" or not units:
            return
        library.parent.mkdir(parents=True, exist_ok=True)
        new = library.with_suffix(".new")
        try:
            self.build(units, new, kind)
        except SetupError as error:
            for file in (new, library):  # a library of an older source may be wrong now
                file.unlink(missing_ok=True)
            say(f"our native code for {self.wheel.title} was not compiled, so it computes more slowly: {error}")
            return
        new.replace(library)

    def build(self, units: Sequence[Unit], new: Path, kind: str) -> None:
        """Compile and link the units into `new`. Raises SetupError."""
        compiler = (os.environ.get("CXX") or shutil.which("c++") or "c++").split()
        folder = self.headers()
        folders = [option for part in sorted(set(self.parts.values())) for option in ("-isystem", folder / part)]
        options = [*compiler, *OPTIONS.split(), *kind.split(), *folders, f'-D{self.version}="{pinned(self.wheel)}"']
        with tempfile.TemporaryDirectory() as objects:
            outputs = [Path(objects, f"{number}.o") for number in range(len(units))]
            commands = [
                [*options, *unit.options.split(), "-c", self.folder / unit.name, "-o", output]
                for unit, output in zip(units, outputs, strict=True)
            ]
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(run, commands))
            # The code needs no C++ runtime.
            link = ["-s", "-nostdlib", "-lpthread", "-lc"] if kind == FAST else kind.split()
            run([*compiler, "-shared", *outputs, "-o", new, *link])

    def headers(self) -> Path:
        """Return the folder of ggml's headers of the pinned version, kept in the cache.

        They come from the source archive, whose hash pip checks, because the wheel contains only the public headers.
        Raises SetupError, also if the wheel's headers differ from the archive's.
        """
        kept = CACHE / "headers" / self.key()
        if not kept.exists():
            new = kept.with_suffix(".new")
            shutil.rmtree(new, ignore_errors=True)
            with tempfile.TemporaryDirectory() as folder:
                ggml = self.wheel.fetch_source(Path(folder)) / self.ggml
                for part, to in self.parts.items():
                    (new / to).mkdir(parents=True, exist_ok=True)
                    for path in (ggml / part).glob("*.h"):
                        shutil.copyfile(path, new / to / path.name)
            new.rename(kept)
        for public in VENV.glob(self.installed) if self.installed else ():
            if public.read_bytes() != (kept / public.name).read_bytes():
                raise SetupError(f"the installed {public.name} is not that of its source")
        return kept

    def key(self) -> str:
        """Return the name of the headers' folder, which depends on the pinned version and on what is copied."""
        return hashlib.sha256(self.wheel.lock.read_bytes() + repr(self.parts).encode()).hexdigest()[:16]


def run(command: list[object]) -> None:
    """Run a compiler command. Raises SetupError with the compiler's first error."""
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    except OSError as error:
        raise SetupError(str(error)) from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"{command[0]} failed"]
        raise SetupError(next((line for line in lines if "error" in line), lines[-1]))


def pinned(wheel: CompiledWheel) -> str:
    """Return the pinned version of a package."""
    match = re.search(r"==([\w.]+)", wheel.lock.read_text())
    assert match, wheel.lock
    return match[1]


IK_CODE = OwnCode(
    "ik",
    IK,
    "vendor/ik_llama.cpp/ggml",
    {"include": ".", "src": ".", "src/iqk": "iqk"},
    "IK_VERSION",
    (
        Unit("passes.cpp", machines=ALL_MACHINES),
        Unit("tied_head.cpp", machines=ALL_MACHINES),
        Unit("kernels.cpp", AVX2),
        Unit("products.cpp", AVX2),
        Unit("products.cpp", AVX_VNNI),
        Unit("products.cpp", AVX512),
    ),
    "lib/python3*/site-packages/include/ggml*.h",
)
LLAMA_CODE = OwnCode(
    "llama",
    LLAMA,
    "vendor/llama.cpp/ggml",
    {"include": ".", "src": ".", "src/ggml-cpu": "cpu", "src/ggml-cpu/llamafile": "cpu/llamafile"},
    "LLAMA_VERSION",
    (
        Unit("front.cpp"),
        Unit("low_bits.cpp", AVX2),
        Unit("low_bits.cpp", AVX_VNNI),
        Unit("low_bits.cpp", AVX512),
    ),
)
OWN_CODE = (IK_CODE, LLAMA_CODE)
SOURCES = [path for code in OWN_CODE for path in code.sources]


def compile_own_code() -> None:
    """Compile our code for both libraries, one after the other: each takes all processors."""
    for code in OWN_CODE:
        code.compile()
