"""Compiles our native code for ik_llama.cpp (engine/runtime/ik/native). Standard library only.

The native code makes ik_llama.cpp faster and is optional: if it cannot be compiled, set-up says so and goes on.
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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from native import IK
from steps import CACHE, ROOT, VENV, SetupError, say

FOLDER = ROOT / "engine" / "runtime" / "ik" / "native"
SOURCES = sorted(path for path in FOLDER.iterdir() if path.suffix in (".cpp", ".hpp"))
LIBRARY = VENV / "kernels" / "ik.so"  # engine/runtime/ik/native.py loads it from here

OPTIONS = "-std=c++20 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti"
FAST = "-O3"
CHECKED = "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
AVX2 = "-mavx2 -mfma -mf16c"  # the wheel itself requires these
AVX512 = f"{AVX2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni"


@dataclass(frozen=True)
class Unit:
    """Source file that is compiled by itself with its `options`.

    Whether the processor can run it is checked when it is loaded.
    """

    name: str
    options: str
    machines: tuple[str, ...] = ("x86_64",)


UNITS = (
    Unit("passes.cpp", "", ("x86_64", "aarch64")),
    Unit("tied_head.cpp", "", ("x86_64", "aarch64")),
    Unit("kernels.cpp", AVX2),
    Unit("products.cpp", AVX2),
    Unit("products.cpp", f"{AVX2} -mavxvnni"),
    # GCC 12 warns of its own AVX-512 headers (its bug 105593).
    Unit("products.cpp", f"{AVX512} -Wno-maybe-uninitialized -Wno-uninitialized"),
)


def compile_ik_native(library: Path = LIBRARY, kind: str = FAST) -> None:
    """Compile the native code for every processor of this architecture; do nothing on systems other than Linux.

    Only Linux's linker lets a library's function replace another library's.
    """
    units = [unit for unit in UNITS if platform.machine() in unit.machines]
    if sys.platform != "linux" or not units:
        return
    library.parent.mkdir(parents=True, exist_ok=True)
    new = library.with_suffix(".new")
    try:
        build(units, new, kind)
    except SetupError as error:
        for file in (new, library):  # a library of an older source may be wrong now
            file.unlink(missing_ok=True)
        say(f"our native code for ik_llama.cpp was not compiled, so it computes more slowly: {error}")
        return
    new.replace(library)


def build(units: list[Unit], new: Path, kind: str) -> None:
    """Compile and link the units into `new`. Raises SetupError."""
    compiler = (os.environ.get("CXX") or shutil.which("c++") or "c++").split()
    folder = headers()
    includes = ["-isystem", folder, "-isystem", folder / "iqk", f'-DIK_VERSION="{version()}"']
    with tempfile.TemporaryDirectory() as objects:
        outputs = [Path(objects, f"{number}.o") for number in range(len(units))]
        commands = [
            [*compiler, *OPTIONS.split(), *kind.split(), *unit.options.split(), *includes, "-c", FOLDER / unit.name]
            for unit in units
        ]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(run, ([*command, "-o", output] for command, output in zip(commands, outputs, strict=True))))
        # The code needs no C++ runtime.
        link = ["-s", "-nostdlib", "-lpthread", "-lc"] if kind == FAST else kind.split()
        run([*compiler, "-shared", *outputs, "-o", new, *link])


def run(command: list[object]) -> None:
    """Run a compiler command. Raises SetupError with the compiler's first error."""
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    except OSError as error:
        raise SetupError(str(error)) from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"{command[0]} failed"]
        raise SetupError(next((line for line in lines if "error" in line), lines[-1]))


def version() -> str:
    """Return the pinned version of ik-llama-cpp-python."""
    match = re.search(r"==([\w.]+)", IK.lock.read_text())
    assert match, IK.lock
    return match[1]


def headers() -> Path:
    """Return the folder of ggml's headers of the pinned version, kept in the cache.

    They come from the source archive, whose hash pip checks, because the wheel contains only the public headers. Raises
    SetupError, also if the wheel's headers differ from the archive's.
    """
    kept = CACHE / "headers" / hashlib.sha256(IK.lock.read_bytes()).hexdigest()[:16]
    if not kept.exists():
        new = kept.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        with tempfile.TemporaryDirectory() as folder:
            ggml = IK.fetch_source(Path(folder)) / "vendor" / "ik_llama.cpp" / "ggml"
            for part, to in (("include", new), ("src", new), ("src/iqk", new / "iqk")):
                to.mkdir(parents=True, exist_ok=True)
                for path in (ggml / part).glob("*.h"):
                    shutil.copyfile(path, to / path.name)
        new.rename(kept)
    for public in VENV.glob("lib/python3*/site-packages/include/ggml*.h"):
        if public.read_bytes() != (kept / public.name).read_bytes():
            raise SetupError(f"the installed {public.name} is not that of its source")
    return kept
