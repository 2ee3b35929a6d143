"""Compiles our native code for ik_llama.cpp (engine/runtime/ik/native). Standard library only.

It makes ik_llama.cpp faster and is no condition: where it cannot be compiled, a sentence says so and set-up goes on."""

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
LIBRARY = VENV / "kernels" / "ik.so"  # where engine/runtime/ik/native.py looks

OPTIONS = "-std=c++20 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti"
FAST = "-O3"
CHECKED = "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
AVX2 = "-mavx2 -mfma -mf16c"  # what the wheel itself asks for
AVX512 = f"{AVX2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni"


@dataclass(frozen=True)
class Unit:
    """A file that is compiled by itself; which processor can run it is asked when it is loaded."""

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
    """For any processor of this kind of machine; on other systems the linker puts no function before another's."""
    units = [unit for unit in UNITS if platform.machine() in unit.machines]
    if sys.platform != "linux" or not units:
        return
    library.parent.mkdir(parents=True, exist_ok=True)
    made = library.with_suffix(".new")
    try:
        build(units, made, kind)
    except SetupError as error:
        for file in (made, library):  # those of an older source may not be right any more
            file.unlink(missing_ok=True)
        say(f"our native code for ik_llama.cpp was not compiled, so it computes more slowly: {error}")
        return
    made.replace(library)


def build(units: list[Unit], made: Path, kind: str) -> None:
    """Raises SetupError."""
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
        # No runtime of C++ is needed.
        link = ["-s", "-nostdlib", "-lc"] if kind == FAST else kind.split()
        run([*compiler, "-shared", *outputs, "-o", made, *link])


def run(command: list[object]) -> None:
    """Raises SetupError with the first error that the compiler tells."""
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    except OSError as error:
        raise SetupError(str(error)) from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"{command[0]} failed"]
        raise SetupError(next((line for line in lines if "error" in line), lines[-1]))


def version() -> str:
    """Of ik-llama-cpp-python, as it is pinned."""
    found = re.search(r"==([\w.]+)", IK.lock.read_text())
    assert found, IK.lock
    return found[1]


def headers() -> Path:
    """ggml's headers of the pinned version, kept in the cache. They come with its source, whose hash pip checks, as the
    wheel has the public ones alone, which must be the same. Raises SetupError."""
    kept = CACHE / "headers" / hashlib.sha256(IK.lock.read_bytes()).hexdigest()[:16]
    if not kept.exists():
        made = kept.with_suffix(".new")
        shutil.rmtree(made, ignore_errors=True)
        with tempfile.TemporaryDirectory() as folder:
            ggml = IK.unpack(Path(folder)) / "vendor" / "ik_llama.cpp" / "ggml"
            for part, to in (("include", made), ("src", made), ("src/iqk", made / "iqk")):
                to.mkdir(parents=True, exist_ok=True)
                for path in (ggml / part).glob("*.h"):
                    shutil.copyfile(path, to / path.name)
        made.rename(kept)
    for public in VENV.glob("lib/python3*/site-packages/include/ggml*.h"):
        if public.read_bytes() != (kept / public.name).read_bytes():
            raise SetupError(f"the installed {public.name} is not that of its source")
    return kept
