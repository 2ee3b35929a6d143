"""Checks what set-up needs of this computer before anything is downloaded, and tells all that is missing at once.

Standard library only.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from compiled_wheel import cpu_flags, missing_compilers
from steps import CACHE, PYTHON, VENV, SetupError, run, say, system_packages

# The oldest glibc for which all libraries have wheels; PySide6-Essentials asks for the newest.
GLIBC = {"x86_64": (2, 34), "aarch64": (2, 39)}
# The systems for which there are wheels of ik-llama-cpp-python, as pyproject.toml says, and the first Python without.
IK_SYSTEMS = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"), ("win32", "AMD64")}
IK_FIRST_PYTHON_WITHOUT = (3, 14)
# Parts that a Python lacks if it was compiled where a library's headers were missing.
MODULES = {"ctypes": "_ctypes", "sqlite3": "_sqlite3", "ssl": "_ssl", "zlib": "zlib"}
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"  # dpkg calls programs that are not on every administrator's PATH
CHECKOUT_ROOM, CACHE_ROOM = 1_300_000_000, 900_000_000  # bytes: .venv, and what is downloaded and compiled


def require(compiles: bool, libraries: list[system_packages.Part]) -> None:
    """Install the system's packages that are missing, if this needs no password.

    `compiles`: whether llama.cpp is compiled now. `libraries`: those that are missing. Raises SetupError with
    everything else that is missing.
    """
    problems = [*python_problems(), *wheel_problems(), *room_problems()]
    missing = [*missing_tools(compiles), *libraries]
    if not problems and (not missing or installs(missing)):
        return
    lines = [f"- {problem}" for problem in problems]
    if missing:
        names = ", ".join(part.name for part in missing)
        how = system_packages.install_command(missing)
        lines.append(
            f"- packages of the system: {names}. " + ("Install them:" if how else "Its package manager has them.")
        )
        lines += [f"  {how}"] if how else []
    raise SetupError("\n".join(["this computer lacks what set-up needs. Nothing was downloaded yet.", *lines]))


def missing_tools(compiles: bool) -> list[system_packages.Part]:
    has_venv = PYTHON.exists() or importlib.util.find_spec("ensurepip")
    return [*([] if has_venv else [system_packages.VENV]), *(missing_compilers() if compiles else [])]


def python_problems() -> list[str]:
    missing = [name for name, file in MODULES.items() if not importlib.util.find_spec(file)]
    return [f"This Python was built without {', '.join(missing)}: use your system's own."] if missing else []


def wheel_problems() -> list[str]:
    if not sys.platform.startswith("linux"):
        return []
    machine, kind = platform.machine(), c_library()
    if machine not in GLIBC:
        return [f"Qt for Python has no release for {machine} processors."]
    needed = GLIBC[machine]
    if kind and kind >= needed:
        return []
    here = f"glibc {dotted(kind)}" if kind else "another C library"
    return [f"Qt for Python needs glibc {dotted(needed)} or newer on {machine}; this system has {here}."]


def c_library() -> tuple[int, ...]:
    """Return the version of glibc, such as (2, 36); () for another C library."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (OSError, ValueError):
        return ()
    return tuple(int(part) for part in version.split(".")) if name == "glibc" else ()


def dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def room_problems() -> list[str]:
    """Return a sentence for each disk that has too little room for the first set-up."""
    if PYTHON.exists():
        return []
    needed: dict[int, int] = {}
    places: dict[int, Path] = {}
    for folder, room in ((VENV, CHECKOUT_ROOM), (CACHE, CACHE_ROOM)):
        there = next(path for path in (folder, *folder.parents) if path.exists())
        disk = there.stat().st_dev
        needed[disk] = needed.get(disk, 0) + room
        places.setdefault(disk, there)
    return [
        f"Set-up needs {room / 1e9:.1f} GB in {places[disk]}, where {free / 1e9:.1f} GB are free."
        for disk, room in needed.items()
        if (free := shutil.disk_usage(places[disk]).free) < room
    ]


def has_ik_wheel() -> bool:
    """Return whether a prebuilt ik_llama.cpp is installed here and this processor can run it."""
    machine = platform.machine()
    if sys.version_info >= IK_FIRST_PYTHON_WITHOUT or (sys.platform, machine) not in IK_SYSTEMS:
        return False
    return machine != "x86_64" or "avx2" in cpu_flags().split()


def installs(parts: Iterable[system_packages.Part]) -> bool:
    """Install Debian's packages if this needs no password, and return whether it was done. Raises SetupError."""
    rights = [] if system_packages.is_root() else ["sudo", "-n"]
    if not shutil.which("apt-get"):
        return False
    if rights and (not shutil.which("sudo") or subprocess.run([*rights, "true"], capture_output=True).returncode != 0):
        return False
    apt_install(list(dict.fromkeys(part.debian for part in parts)), rights)
    return True


def apt_install(packages: list[str], rights: list[str] | None = None) -> None:
    """Install packages of Debian's; do nothing without one. `rights`: the command that gives the rights to."""
    if not packages:
        return
    say(f"installing system packages: {' '.join(packages)}")
    start: list[object] = [*(rights or []), "env", "DEBIAN_FRONTEND=noninteractive", f"PATH={SYSTEM_PATH}", "apt-get"]
    run([*start, "update", "-qq"], "apt-get update failed: is the network there?")
    install = [*start, "install", "-y", "-qq", "--no-install-recommends", *packages]
    run(install, f"could not install system packages. Try yourself: apt-get install {' '.join(packages)}", quiet=True)
