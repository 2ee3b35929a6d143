"""Builds a wheel on this computer from a pinned source archive, and keeps it in the user's cache.

The cache's key is version, Python, processor and build options, so another checkout need not compile again. An
interrupted build resumes in its own folder.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steps import BIN, CACHE, SetupError, download, pip, say, system_packages

SHOWN_EVERY = 0.5, 5.0  # seconds between lines of progress: in a terminal, and in a file or pipe


class NoCompiler(SetupError):
    """Set-up error: this computer has no C or C++ compiler."""


@dataclass(frozen=True)
class CompiledWheel:
    """Wheel that is compiled here.

    Attributes:
        package: name as in `lock`, which pins its source archive.
        title, minutes: name, and build time on 2 cores, that the user reads.
        memory: bytes of RAM that its largest compiler process takes.
        options: arguments for CMake.
        cmake: file that replaces the archive's CMakeLists.txt.
        portable: whether it is compiled for many processors instead of this one.
    """

    package: str
    title: str
    lock: Path
    minutes: int
    memory: int
    options: str = ""
    cmake: Path | None = None
    portable: bool = False

    def wheel(self) -> Path:
        """Return the wheel, compiling it if it is not in the cache. Raises SetupError."""
        wheels = self.wheels()
        if not self.is_cached():
            require_compiler(self.title)
            self.compile(wheels)
        (wheel,) = wheels.glob("*.whl")
        return wheel

    def is_cached(self) -> bool:
        return any(self.wheels().glob("*.whl"))

    def wheels(self) -> Path:
        return CACHE / "wheels" / self.key()

    @property
    def folder(self) -> Path:
        """Folder in which the wheel is compiled."""
        return CACHE / "build" / self.key()

    def fetch(self) -> None:
        """Download what compiling needs, so that it can run without a network. Raises SetupError."""
        if not self.is_cached():
            self.fetch_source(self.folder)

    def key(self) -> str:
        """Return the cache key, which depends on pinned source, Python, processor and options."""
        parts = [self.lock.read_text(), sys.version, platform.machine()]
        parts += [self.options] if self.portable else [cpu_flags(), self.options]
        if self.cmake:
            parts.append(self.cmake.read_text())
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def compile(self, wheels: Path) -> None:
        folder = self.folder
        source = self.fetch_source(folder)
        target = "many processors" if self.portable else "this processor"
        say(f"compiling {self.title} for {target}: about {self.minutes} minutes on 2 cores, once")
        built = folder / "wheel"
        command = pip("wheel", "-v", "--no-deps", "--no-build-isolation", "-w", built)
        command.append(f"--config-settings=build-dir={folder / 'objects'}")
        self.run_build([*command, source], self.environment(), folder / "compile.log")
        wheels.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(wheels, ignore_errors=True)
        built.rename(wheels)
        shutil.rmtree(folder)

    def environment(self) -> dict[str, str]:
        environment = dict(os.environ, CMAKE_ARGS=f"{self.options} {os.environ.get('CMAKE_ARGS', '')}".strip())
        environment["PATH"] = f"{BIN}{os.pathsep}{environment['PATH']}"
        environment.pop("SOURCE_DATE_EPOCH", None)  # ggml turns GGML_NATIVE off if it is set
        environment.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(jobs(self.memory)))
        return environment

    def fetch_source(self, folder: Path) -> Path:
        """Return the folder of the source, downloading and unpacking it if needed; pip checks the archive's hash.

        It is unpacked once only, so that an interrupted ninja can resume.
        """
        marker = folder / "unpacked"
        if not marker.exists():
            say(f"fetching the source of {self.package}")
            command = pip("download", "--quiet", "--no-deps", "--no-build-isolation", "--no-binary", ":all:")
            command += ["--require-hashes", "-d", folder / "sdist", "-r", self.lock]
            download(command, f"the source of {self.package}")
            (archive,) = (folder / "sdist").glob("*.tar.gz")
            with tarfile.open(archive) as tar:
                # Debian 12's Python has no filters; pip has checked the archive's hash.
                filters: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
                tar.extractall(folder / "source", **filters)
            (source,) = (folder / "source").iterdir()
            if self.cmake:
                shutil.copyfile(self.cmake, source / "CMakeLists.txt")
            marker.touch()
        (source,) = (folder / "source").iterdir()
        return source

    def run_build(self, command: list[object], environment: dict[str, str], log_path: Path) -> None:
        """Run the build, print ninja's `[done/total]` as it advances, and write all output to a log."""
        words, pipe = [str(part) for part in command], subprocess.PIPE
        started, shown = time.monotonic(), 0.0
        every = SHOWN_EVERY[not sys.stderr.isatty()]
        with (
            subprocess.Popen(words, env=environment, stdout=pipe, stderr=subprocess.STDOUT, text=True) as process,
            log_path.open("w") as log,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                log.write(line)
                step = re.search(r"\[(\d+)/(\d+)\]", line)
                if step and time.monotonic() - shown > every:
                    shown = time.monotonic()
                    end = "\r" if sys.stderr.isatty() else "\n"
                    text = f"setup: compiling {self.title} {step[1]}/{step[2]}, {shown - started:.0f} s"
                    print(text, end=end, file=sys.stderr, flush=True)
        if process.returncode != 0:
            tail = "".join(log_path.read_text().splitlines(keepends=True)[-30:])
            raise SetupError(f"{self.title} did not compile; the log is {log_path}\n{tail}")
        say(f"compiled in {time.monotonic() - started:.0f} s")


def require_compiler(title: str) -> None:
    """Raise NoCompiler if there is no C or C++ compiler."""
    missing = missing_compilers()
    if missing:
        how = system_packages.install_command(missing) or "your system's package manager has one"
        raise NoCompiler(f"A C and C++ compiler is needed to build {title}: {how}")


def missing_compilers() -> list[system_packages.Part]:
    if sys.platform == "win32" or os.environ.get(
        "CC"
    ):  # CMake finds Visual Studio itself, or reports that it is missing
        return []
    return system_packages.missing_programs(system_packages.COMPILERS)


def cpu_flags() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    match = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.M)
    return " ".join(sorted(match[1].split())) if match else platform.processor()


def jobs(memory: int) -> int:
    """Return how many compiler processes run at once: one per processor, as far as 3/4 of the RAM suffice."""
    processors = os.cpu_count() or 1
    try:
        ram = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not every system has these values
        return processors
    return max(1, min(processors, ram * 3 // 4 // memory))
