"""`make vulkan`: compiles ggml's Vulkan backend, by which graphics processors compute. Standard library only.

`make package ARGS=--vulkan` does the same for the installers. It is a library of its own, which the engine loads only
in a process that looks for devices or uses one; without it, or without a driver, the processor computes. Set-up does
not need it.

Debian 12 has neither headers new enough nor a compiler of shaders that knows cooperative matrices and integer products,
which make quantised models fast on new graphics processors. So both come from Debian 13, through this system's own
apt-get, into a folder of their own; elsewhere the system's own are taken.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from compiled_wheel import CompiledWheel, jobs, require_compiler
from llama_wheel import LLAMA
from setup_lock import setup_lock
from steps import BIN, CACHE, ROOT, VENV, SetupError, say

LOCK = ROOT / "packaging" / "vulkan.lock"
FILE = VENV / "kernels" / "libggml-vulkan.so"
RELEASE = "trixie"
RUN_WITH = ("libc6", "libgcc-s1", "libstdc++6")
LIBRARIES = Path("usr/lib/x86_64-linux-gnu")
OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DGGML_BACKEND_DL=ON -DGGML_CPU=OFF -DGGML_NATIVE=OFF"
    " -DGGML_VULKAN=ON -DGGML_CCACHE=OFF -DCMAKE_SKIP_RPATH=ON -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TESTS=OFF"
    " -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF"
)
UNVERSIONED = "-DCMAKE_PLATFORM_NO_VERSIONED_SONAME=ON"  # of the packaged llama.cpp, whose name it must look for
MEMORY = 2_000_000_000  # bytes that its largest compiler process takes


@dataclass(frozen=True)
class Tools:
    """The root folder of unpacked packages with compiler of shaders and headers; `glslc`: how to start the compiler."""

    root: Path
    glslc: Path

    @property
    def options(self) -> list[str]:
        """Options of CMake by which it finds them."""
        usr = self.root / "usr"
        return [
            f"-DVulkan_INCLUDE_DIR={usr / 'include'}",
            f"-DVulkan_LIBRARY={self.root / LIBRARIES / 'libvulkan.so.1'}",
            f"-DVulkan_GLSLC_EXECUTABLE={self.glslc}",
            f"-DSPIRV-Headers_DIR={usr / 'share/cmake/SPIRV-Headers'}",
        ]


def main() -> int:
    try:
        with setup_lock():
            install_vulkan(LLAMA)
    except SetupError as error:
        say(str(error))
        return 1
    return 0


def install_vulkan(wheel: CompiledWheel) -> None:
    """Install the backend for the llama.cpp of `wheel`, compiling it if it is not in the cache. Raises SetupError."""
    if sys.platform != "linux":
        raise SetupError("the Vulkan backend is compiled on Linux only")
    unversioned = UNVERSIONED in wheel.options
    kept = CACHE / "vulkan" / key(wheel) / FILE.name
    if not kept.exists():
        require_compiler("the Vulkan backend")
        build(wheel, [*OPTIONS.split(), *([UNVERSIONED] if unversioned else [])], kept)
    FILE.parent.mkdir(parents=True, exist_ok=True)
    new = FILE.with_suffix(".new")
    shutil.copyfile(kept, new)
    new.replace(FILE)
    say(f"the Vulkan backend is installed: {FILE.stat().st_size / 1e6:.1f} MB")


def key(wheel: CompiledWheel) -> str:
    """Return the name of the backend's folder in the cache, which depends on all that it is compiled from."""
    parts = [wheel.lock.read_text(), LOCK.read_text(), OPTIONS, str(UNVERSIONED in wheel.options)]
    return hashlib.sha256("\n".join([*parts, platform.machine()]).encode()).hexdigest()[:16]


def build(wheel: CompiledWheel, options: list[str], kept: Path) -> None:
    folder = kept.parent / "build"
    source = wheel.fetch_source(folder) / "vendor" / "llama.cpp"
    objects, log = folder / "objects", folder / "compile.log"
    say("compiling the Vulkan backend and its shaders: about 20 minutes on 2 cores, once")
    environment = dict(os.environ, PATH=f"{BIN}{os.pathsep}{os.environ['PATH']}")
    configure: list[object] = ["cmake", "-S", source, "-B", objects, "-G", "Ninja", *options, *found_tools(folder)]
    compile: list[object] = ["ninja", "-C", objects, f"-j{jobs(MEMORY)}", "ggml-vulkan"]
    for command in (configure, compile):
        wheel.run_build(command, environment, log)
    built = objects / "bin" / FILE.name
    subprocess.run(["strip", "--strip-unneeded", built], check=True)
    new = kept.with_suffix(".new")
    shutil.copyfile(built, new)
    new.replace(kept)
    shutil.rmtree(folder)


def found_tools(folder: Path) -> list[str]:
    """Return the options of CMake for Debian 13's tools; none where this system must have its own."""
    origin = mirror() if platform.machine() == "x86_64" else None
    if origin is None:
        say("this system's own compiler of shaders (glslc) and Vulkan headers are used")
        return []
    return fetch_tools(folder / "tools", origin).options


def mirror() -> str | None:
    """Return the address of the Debian archive that this system's apt-get uses; None on other systems."""
    if not shutil.which("apt-get"):
        return None
    command = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(REPO_URI)", "Created-By: Packages"]
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    words = [line.split() for line in lines]
    return next((uri for origin, name, uri in (w for w in words if len(w) == 3) if is_main(origin, name)), None)


def is_main(origin: str, codename: str) -> bool:
    """Return whether the archive is Debian's main one, which has all releases."""
    return origin == "Debian" and not codename.endswith(("-security", "-updates", "-backports"))


def fetch_tools(folder: Path, origin: str) -> Tools:
    """Download and unpack the packages of the lock file. Raises SetupError if one is not what was published."""
    pinned = dict(line.split() for line in LOCK.read_text().splitlines() if not line.startswith("#"))
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as state:
        apt = apt_of_release(Path(state), origin)
        for words in ([*apt, "update", "-qq"], [*apt, "download", "-qq", *pinned, *RUN_WITH]):
            if subprocess.run(words, cwd=folder).returncode:
                raise SetupError("the compiler of shaders could not be downloaded. Is the network there?")
    root, files = folder / "root", sorted(folder.glob("*.deb"))
    digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    if set(pinned.values()) - digests:
        raise SetupError("what came is not what was published (packaging/vulkan.lock), so it was not used")
    for path in files:
        subprocess.run(["dpkg-deb", "-x", path, root], check=True)
    return Tools(root, shader_compiler(folder, root))


def apt_of_release(state: Path, origin: str) -> list[str]:
    """Return the beginning of apt-get commands that know this release alone, and change nothing of the system's."""
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (state / "sources.list").write_text(f"deb [signed-by={keys}] {origin} {RELEASE} main\n")
    for name in ("lists/partial", "cache/archives/partial"):
        (state / name).mkdir(parents=True)
    options = {
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": os.devnull,
        "Dir::State::lists": state / "lists",
        "Dir::State::status": os.devnull,
        "Dir::Cache": state / "cache",
        "APT::Sandbox::User": "root",
    }
    return ["apt-get", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]


def shader_compiler(folder: Path, root: Path) -> Path:
    """Write a program that starts the unpacked compiler with the libraries of its own release."""
    libraries, program = root / LIBRARIES, folder / "glslc"
    loader = f"'{libraries}/ld-linux-x86-64.so.2' --library-path '{libraries}'"
    program.write_text(f"#!/bin/sh\nexec {loader} '{root}/usr/bin/glslc' \"$@\"\n")
    program.chmod(0o755)
    return program


if __name__ == "__main__":
    sys.exit(main())
