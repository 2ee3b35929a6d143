"""`make setup`: from a clean checkout to a `.venv` that runs, tests and type-checks. Standard library only.

Every step looks first whether its result is there, so a second run takes a few milliseconds and an interrupted one
goes on where it stopped; the compile of llama.cpp resumes inside its own build folder. The compiled wheel is kept in
the user's cache, keyed by version, Python, processor and build options, so another checkout does not compile again.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
READY = VENV / "ready"
WHEELS_LOCK = ROOT / "requirements.lock"
COMPILED_LOCK = ROOT / "packaging" / "compiled.lock"
WEIGHTS_LOCK = ROOT / "packaging" / "weights.lock"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chickadee-build"

# Install folders: without them every library is packed three times. LLAVA (images) is not used yet.
BUILD_OPTIONS = (
    "-DLLAVA_BUILD=OFF -DCMAKE_INSTALL_BINDIR=llama_cpp/lib -DCMAKE_INSTALL_LIBDIR=llama_cpp/lib"
    " -DCMAKE_INSTALL_INCLUDEDIR=llama_cpp/include"
)

# Which Debian package holds a library that Qt links to; what is missing is asked of the dynamic linker itself.
DEBIAN_PACKAGES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libOpenGL.so.0": "libopengl0",
    "libGLX.so.0": "libglx0",
    "libX11.so.6": "libx11-6",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libgomp.so.1": "libgomp1",
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
    "libxcb.so.1": "libxcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-glx.so.0": "libxcb-glx0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}


class SetupError(Exception):
    """The machine lacks something; the text says what and how to get it."""


def say(text: str) -> None:
    print(f"setup: {text}", file=sys.stderr, flush=True)


def main() -> int:
    try:
        prepare()
    except SetupError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("interrupted; the next `make setup` goes on from here")
        return 130
    return 0


def prepare() -> None:
    stamp = fingerprint()
    if READY.exists() and READY.read_text() == stamp:
        return
    require_tools()
    make_venv()
    pip_install("libraries", WHEELS_LOCK, "--only-binary", ":all:")
    pip_install("the default model (90 MB)", WEIGHTS_LOCK, "--only-binary", ":all:")
    install_llama_cpp()
    install_qt_libraries()
    READY.write_text(stamp)
    say("ready")


def fingerprint() -> str:
    """What the environment was made from: the lock files, this file, the interpreter and the place of the checkout."""
    digest = hashlib.sha256(f"{sys.version}{ROOT}{BUILD_OPTIONS}".encode())
    for path in (WHEELS_LOCK, COMPILED_LOCK, WEIGHTS_LOCK, Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def require_tools() -> None:
    if sys.version_info < (3, 11):  # noqa: UP036  the interpreter may be any
        raise SetupError(f"Python 3.11 or newer is needed, this is {platform.python_version()}.")
    missing = [tool for tool in ("cc", "c++") if not shutil.which(tool)]
    if missing and not os.environ.get("CC"):
        raise SetupError("A C and C++ compiler is needed to build llama.cpp: sudo apt-get install gcc g++")


def make_venv() -> None:
    if PYTHON.exists() and subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True).returncode == 0:
        return
    say("creating .venv")
    try:
        import ensurepip  # noqa: F401  Debian keeps it in a package of its own
    except ImportError:
        apt_install([f"python3.{sys.version_info.minor}-venv"])
    run([sys.executable, "-m", "venv", "--clear", str(VENV)], "could not create .venv")


def pip_install(what: str, lock: Path, *options: str) -> None:
    say(f"installing {what}")
    command = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "--require-hashes", *options]
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    run([*command, *quiet, "-r", str(lock)], f"could not install {what}: is the network there? `make setup` resumes.")


def install_llama_cpp() -> None:
    wheels = CACHE / "wheels" / build_key()
    if not list(wheels.glob("llama_cpp_python-*.whl")):
        compile_llama_cpp(wheels)
    (wheel,) = wheels.glob("llama_cpp_python-*.whl")
    say(f"installing {wheel.name}")
    command = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    run([*command, "--no-index", "--force-reinstall", str(wheel)], "could not install llama-cpp-python")


def build_key() -> str:
    """One compiled wheel per pinned source, Python, processor and options."""
    parts = (COMPILED_LOCK.read_text(), sys.version, platform.machine(), cpu_flags(), BUILD_OPTIONS)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def cpu_flags() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.M)
    return " ".join(sorted(found[1].split())) if found else platform.processor()


def compile_llama_cpp(wheels: Path) -> None:
    folder = CACHE / "build" / build_key()
    source = unpack_source(folder)
    say("compiling llama.cpp for this processor: about 4 minutes on 2 cores, once")
    made = folder / "wheel"
    command = [PYTHON, "-m", "pip", "wheel", "-v", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"]
    command += [f"--config-settings=build-dir={folder / 'objects'}", "-w", str(made), str(source)]
    environment = dict(os.environ, CMAKE_ARGS=f"{BUILD_OPTIONS} {os.environ.get('CMAKE_ARGS', '')}".strip())
    environment["PATH"] = f"{BIN}{os.pathsep}{environment['PATH']}"
    environment.pop("SOURCE_DATE_EPOCH", None)  # ggml turns GGML_NATIVE off where it is set
    show_compile(command, environment, folder / "compile.log")
    wheels.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(wheels, ignore_errors=True)
    made.rename(wheels)
    shutil.rmtree(folder)


def unpack_source(folder: Path) -> Path:
    """The pinned source archive, checked against its hash by pip and unpacked once, so that ninja can resume."""
    done = folder / "unpacked"
    if not done.exists():
        say("fetching the source of llama-cpp-python")
        command = [PYTHON, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--require-hashes", "--no-build-isolation", "--no-binary", ":all:", "-d", str(folder / "sdist")]
        run([*command, "-r", str(COMPILED_LOCK)], "could not fetch llama-cpp-python: is the network there?")
        (archive,) = (folder / "sdist").glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(folder / "source", filter="data")
        done.touch()
    (source,) = (folder / "source").iterdir()
    return source


def show_compile(command: list[object], environment: dict[str, str], log_path: Path) -> None:
    """Runs the build, shows ninja's `[done/total]` as it moves, keeps the rest in a log."""
    process = subprocess.Popen(
        [str(part) for part in command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    started = shown = time.monotonic()
    with log_path.open("w") as log:
        for line in process.stdout:
            log.write(line)
            step = re.search(r"\[(\d+)/(\d+)\]", line)
            if step and time.monotonic() - shown > (0.5 if sys.stderr.isatty() else 15):
                shown = time.monotonic()
                end = "\r" if sys.stderr.isatty() else "\n"
                text = f"setup: compiling llama.cpp {step[1]}/{step[2]}, {shown - started:.0f} s"
                print(text, end=end, file=sys.stderr, flush=True)
    if process.wait() != 0:
        tail = "".join(log_path.read_text().splitlines(keepends=True)[-30:])
        raise SetupError(f"llama.cpp did not compile. The end of {log_path}:\n{tail}")
    say(f"compiled in {time.monotonic() - started:.0f} s")


def install_qt_libraries() -> None:
    if not sys.platform.startswith("linux"):
        return
    missing = missing_qt_libraries()
    if missing:
        unknown = [name for name in missing if name not in DEBIAN_PACKAGES]
        if unknown:
            say(f"the window also needs {', '.join(unknown)}, which your system's packages may hold")
        apt_install(sorted({DEBIAN_PACKAGES[name] for name in missing if name in DEBIAN_PACKAGES}))


def missing_qt_libraries() -> list[str]:
    """Shared libraries that Qt's core, widgets and platform plugins link to and the dynamic linker does not find."""
    (qt,) = VENV.glob("lib/python3*/site-packages/PySide6/Qt")
    wanted = [qt / "plugins/platforms/libqxcb.so", qt / "plugins/platforms/libqwayland.so"]
    wanted += [qt / f"lib/libQt6{part}.so.6" for part in ("Gui", "Widgets", "Svg", "DBus")]
    missing = set()
    for path in filter(Path.exists, wanted):
        output = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
        missing.update(re.findall(r"^\s*(\S+) => not found", output, re.M))
    return sorted(missing)


def apt_install(packages: list[str]) -> None:
    if not packages:
        return
    line = f"sudo apt-get install -y {' '.join(packages)}"
    rights: list[str] = []
    if os.geteuid() != 0:
        rights = ["sudo", "-n"]
        if not shutil.which("sudo") or subprocess.run([*rights, "true"], capture_output=True).returncode != 0:
            raise SetupError(f"some system packages are missing. Run this, then `make setup` again:\n  {line}")
    if not shutil.which("apt-get"):
        raise SetupError(f"some system libraries are missing; on Debian they come by: {line}")
    say(f"installing system packages: {' '.join(packages)}")
    environment = ["env", "DEBIAN_FRONTEND=noninteractive"]
    run([*rights, "apt-get", "update", "-qq"], "apt-get update failed: is the network there?")
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    run([*rights, *environment, *install], f"could not install system packages. Try yourself: {line}", quiet=True)


def run(command: list[object], failure: str, quiet: bool = False) -> None:
    done = subprocess.run([str(part) for part in command], stdout=subprocess.DEVNULL if quiet else None)
    if done.returncode != 0:
        raise SetupError(failure)


if __name__ == "__main__":
    sys.exit(main())
