"""mingw's compiler for Windows programs, and how a DLL passes functions on to another. Standard library only."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from steps import run

GCC = "x86_64-w64-mingw32-gcc-posix"
OBJDUMP = "x86_64-w64-mingw32-objdump"
PACKAGES = ("gcc-mingw-w64-x86-64-posix", "g++-mingw-w64-x86-64-posix")
WIDE = re.compile("%[yz]mm")
EXPORTS = re.compile(r"\[Ordinal/Name Pointer\] Table.*?\n\n", re.S)


def compile_c(output: Path, *parts: object) -> None:
    """Compile and link C sources into a program or DLL. Raises SetupError."""
    run([GCC, "-O2", "-s", "-o", output, *parts], f"{output.name} did not compile")


def exports(library: Path) -> list[str]:
    """Return the names that the DLL exports."""
    shown = subprocess.run([OBJDUMP, "-p", library], capture_output=True, text=True, check=True).stdout
    table = EXPORTS.search(shown)
    return re.findall(r"^\s*\[ *\d+\].*?(\S+)$", table[0], re.M) if table else []


def uses_avx(library: Path) -> bool:
    """Return whether the DLL has instructions with registers that came with AVX."""
    with subprocess.Popen([OBJDUMP, "-d", "--no-show-raw-insn", library], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        wide = any(WIDE.search(line) for line in process.stdout)
        process.kill()
    return wide


def definitions(name: str, targets: dict[str, str]) -> str:
    """Return the linker's definition file of the DLL `name`, which exports each key as the function that it maps to."""
    return f"LIBRARY {name}\nEXPORTS\n" + "".join(f"{own}={target}\n" for own, target in targets.items())
