"""Makes the bundle, PyInstaller's folder, and checks it before it is packed into installers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import bundle_contents
import elf
from steps import PYTHON, ROOT, SetupError, run, say, system_packages

BUILD = ROOT / "build" / ("windows" if sys.platform == "win32" else "")  # under Wine both systems share the checkout
BUNDLE = BUILD / "dist" / bundle_contents.WINDOW
LOG = BUILD / "pyinstaller.log"
NOT_FOUND = re.compile(r"Library not found: could not resolve '([^']+)', dependency of '([^']+)'")
GLIBC_PARTS = {
    "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0",
    "libresolv.so.2", "librt.so.1",
}  # fmt: skip
NEWEST_GLIBC = (2, 35)  # that of Ubuntu 22.04, the oldest system that README promises
LARGEST = 20


def freeze() -> None:
    say("packing the programs with PyInstaller: about a minute")
    BUILD.mkdir(parents=True, exist_ok=True)
    command: list[str | Path] = [
        PYTHON,
        "-m",
        "PyInstaller",
        "--noconfirm",
        "--distpath",
        BUILD / "dist",
        "--workpath",
        BUILD / "work",
    ]
    with LOG.open("w") as log:
        done = subprocess.run([*command, ROOT / "pyinstaller.spec"], stdout=log, stderr=log)
    if done.returncode != 0:
        raise SetupError(f"PyInstaller failed. The end of {LOG}:\n{LOG.read_text()[-3000:]}")


def strip(folder: Path) -> None:
    """Remove debug symbols, which Python's own libraries may have.

    Files without debug symbols are left alone, because `strip` breaks some libraries of wheels.
    """
    if sys.platform == "linux":
        with_symbols = [path for path in elf.programs(folder) if elf.has_debug_symbols(path)]
        if with_symbols:
            run(["strip", "--strip-debug", *with_symbols], "strip failed")


def check(folder: Path) -> None:
    """Print the largest files. Raises SetupError if a file lacks a library or needs a glibc that is too new."""
    files = sorted((path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()), key=size)
    say(f"the bundle has {len(files):,} files, {sum(map(size, files)) / 1e6:.0f} MB; the largest:")
    for path in reversed(files[-LARGEST:]):
        say(f"{size(path) / 1e6:8.1f} MB  {path.relative_to(folder)}")
    absent = missing_libraries(LOG.read_text(), {path.name for path in files})
    if absent:
        raise SetupError("PyInstaller did not find libraries that the bundle needs:\n" + "\n".join(absent))
    if sys.platform == "linux":
        check_programs(folder)


def size(path: Path) -> int:
    return path.stat().st_size


def missing_libraries(log: str, kept: set[str]) -> list[str]:
    """Return the libraries that PyInstaller warned about and that files of the bundle need.

    PyInstaller only warns of them, but on the user's computer the window would not start.
    """
    return [
        f"{library}, for {Path(user).name}"
        for library, user in NOT_FOUND.findall(log)
        if Path(user).name in kept
        and not re.match(bundle_contents.WINDOWS_OWN, library)
        and library not in elf.OPTIONAL
    ]


def check_programs(folder: Path) -> None:
    programs = list(elf.programs(folder))
    unknown = elf.outside(programs, folder).keys() - {part.name for part in system_packages.LIBRARIES} - GLIBC_PARTS
    if unknown:
        raise SetupError(f"the bundle needs {', '.join(sorted(unknown))}, which no known package of Debian's holds")
    newest = max(programs, key=elf.glibc)
    say(f"it needs glibc {elf.dotted(elf.glibc(newest))} or newer, because of {newest.name}")
    newer = [f"{path.name} ({elf.dotted(elf.glibc(path))})" for path in programs if elf.glibc(path) > NEWEST_GLIBC]
    if newer:
        promised = f"newer than Ubuntu 22.04's {elf.dotted(NEWEST_GLIBC)}"
        raise SetupError(f"{', '.join(newer)}: a glibc {promised}. Leave them out, or build them on an older system.")
