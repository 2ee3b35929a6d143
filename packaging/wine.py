"""Wine, which runs Windows' programs on Linux: a prefix with what Wine 8 lacks of Windows 10, and time limits.

Standard library only.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from computer import apt_install
from mingw import PACKAGES, compile_c, definitions, exports
from steps import ROOT, SetupError, say

SOURCES = ROOT / "packaging" / "windows"
TOOLS = {"wine": "wine", "x86_64-w64-mingw32-gcc-posix": PACKAGES[0], "x86_64-w64-mingw32-g++-posix": PACKAGES[1]}
# C99's functions of complex numbers, which numpy calls and Wine 8's C runtime lacks.
COMPLEX = (
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "exp", "log",
    "sqrt", "proj",
)  # fmt: skip
REAL = ("creal", "cimag", "cabs", "carg")
TYPES = (("double", "", ""), ("float", "f", "f"), ("double", "l", ""))  # Windows' long double is its double
OWN_LIBRARIES = "mscoree=;mshtml=;winemenubuilder.exe="  # no .NET, no HTML, no menu entries on this desktop
NOISE = ("wine32 is missing", "multiarch needs", "dpkg --add-architecture", "apt-get install wine32")
END_SECONDS = 10
CHECKOUT_DRIVE = "P:"  # from drive Z:, which is Linux' root, programs would find /proc and /sys


@dataclass(frozen=True)
class Ended:
    """The end of a program: its exit code, None where its time was over, and what it printed."""

    code: int | None
    output: str


@dataclass(frozen=True)
class Wine:
    """A Wine prefix, which is to Windows' programs what a computer's disk and registry are."""

    prefix: Path

    @property
    def drive(self) -> Path:
        """The folder that is drive C:."""
        return self.prefix / "drive_c"

    def make(self) -> None:
        """Make the prefix, unless it is there. Raises SetupError."""
        apt_install(sorted({package for tool, package in TOOLS.items() if not shutil.which(tool)}))
        marker, stamp = self.prefix / "made-from", self.stamp()
        if marker.exists() and marker.read_text() == stamp:
            return
        say(f"making a Wine prefix in {self.prefix}")
        shutil.rmtree(self.prefix, ignore_errors=True)
        self.drive.mkdir(parents=True)
        for command in (["wineboot", "-i"], ["winecfg", "/v", "win10"]):
            if self.run(command, 120, {"WINEDLLOVERRIDES": OWN_LIBRARIES}).code != 0:
                raise SetupError(f"{' '.join(command)} failed")
        self.end()
        (self.prefix / "dosdevices" / CHECKOUT_DRIVE.lower()).symlink_to(ROOT)
        self.add_libraries(self.drive / "windows" / "system32")
        marker.write_text(stamp)

    def stamp(self) -> str:
        """Return a digest of everything that is put into the prefix."""
        made_from = b"".join(path.read_bytes() for path in (*sorted(SOURCES.glob("*.c")), Path(__file__)))
        return hashlib.sha256(made_from).hexdigest()

    def add_libraries(self, system: Path) -> None:
        """Put DLLs of Windows 10 into the prefix that Wine 8 lacks or has in part."""
        compile_c(system / "icuuc.dll", "-shared", "-static", SOURCES / "icuuc.c")
        compile_c(system / "bcryptprimitives.dll", "-shared", "-static", SOURCES / "bcryptprimitives.c")
        places = sorted(Path("/usr/lib").rglob("x86_64-windows/ucrtbase.dll"))
        if not places:
            raise SetupError("Wine's ucrtbase.dll was not found below /usr/lib")
        own = complex_functions()
        names = {*exports(places[0]), *own}
        source, table = self.prefix / "ucrtbase.c", self.prefix / "ucrtbase.def"
        source.write_text("#include <complex.h>\n" + "".join(own.values()))
        table.write_text(
            definitions(
                "ucrtbase.dll", {name: f"x_{name}" if name in own else f"wcrtbase.{name}" for name in sorted(names)}
            )
        )
        shutil.copyfile(places[0], system / "wcrtbase.dll")
        (system / "ucrtbase.dll").unlink(missing_ok=True)  # may be a link to Wine's own
        compile_c(system / "ucrtbase.dll", "-shared", "-static", source, table)

    def run(
        self,
        command: Sequence[object],
        seconds: float,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        shown: bool = False,
    ) -> Ended:
        """Run a Windows program and return its end; after `seconds`, end it and all that it started.

        stdin, stdout and stderr are all pipes: with files Windows' Python ends with "WinError 6". `shown` repeats the
        output as it comes. The program starts in `folder`, or on drive C:. Qt's variables reach it as WINEQT_…, because
        Wine keeps QT_… to itself.
        """
        given = os.environ | {
            "WINEPREFIX": str(self.prefix), "WINEARCH": "win64", "WINEDEBUG": "-all", "LC_ALL": "C.UTF-8",
            "WINEDLLOVERRIDES": f"{OWN_LIBRARIES};ucrtbase=n;wcrtbase=n,b;icuuc=n;bcryptprimitives=n",
            **{f"WINE{name}": value for name, value in (environment or {}).items() if name.startswith("QT_")},
            **(environment or {}),
        }  # fmt: skip
        pipe = subprocess.PIPE
        with subprocess.Popen(
            ["wine", *map(str, command)], stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT,
            env=given, cwd=folder or self.drive, text=True, errors="replace", process_group=0,
        ) as process:  # fmt: skip
            return self._ended(process, seconds, shown)

    def _ended(self, process: subprocess.Popen[str], seconds: float, shown: bool) -> Ended:
        lines: list[str] = []

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                if not any(noise in line for noise in NOISE):
                    lines.append(line)
                    if shown:
                        sys.stderr.write(line)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        assert process.stdin is not None
        process.stdin.close()
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(process.pid, signal.SIGKILL)
            self.end()
        reader.join(END_SECONDS)
        return Ended(code, "".join(lines))

    def end(self) -> None:
        """End every program of this prefix."""
        variables = os.environ | {"WINEPREFIX": str(self.prefix), "WINEDEBUG": "-all"}
        for option in ("-k", "-w"):
            subprocess.run(["wineserver", option], env=variables, check=False, timeout=60)


def windows_path(path: Path) -> str:
    """Return the path of a file as Windows' programs name it."""
    inside = path.is_relative_to(ROOT)
    return (f"{CHECKOUT_DRIVE}\\{path.relative_to(ROOT)}" if inside else f"Z:{path}").replace("/", "\\")


def complex_functions() -> dict[str, str]:
    """Return the C source of each function of complex numbers, by the name that Windows' C runtime exports."""
    own = {}
    for kind, suffix, library in TYPES:
        of_complex = f"{kind} complex"
        for name in [*(f"c{part}" for part in COMPLEX), "conj"]:
            own[name + suffix] = f"{of_complex} x_{name}{suffix}({of_complex} a) {{ return {name}{library}(a); }}\n"
        for name in REAL:
            own[name + suffix] = f"{kind} x_{name}{suffix}({of_complex} a) {{ return {name}{library}(a); }}\n"
        own[f"cpow{suffix}"] = (
            f"{of_complex} x_cpow{suffix}({of_complex} a, {of_complex} b) {{ return cpow{library}(a, b); }}\n"
        )
    return own
