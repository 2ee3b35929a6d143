"""`make setup`: from a clean checkout to a `.venv` that runs, tests and type-checks. Standard library only.

Every step looks first whether its result is there, so a second run takes a few milliseconds and an interrupted one
goes on where it stopped. llama.cpp is compiled (see `compiled`), ik_llama.cpp only if asked for (see `native`).

`make run` does not wait for that compile where the prebuilt ik_llama.cpp can answer meanwhile: `.venv/unfinished` then
holds the command by which the window has it done in the background.
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
from alone import alone
from background import stay_in_the_background
from compiled import Compiled, NoCompiler, require_compiler
from ik_native import SOURCES as IK_NATIVE
from ik_native import compile_ik_native
from native import chosen, install_native, install_prebuilt, keep_native
from steps import PYTHON, ROOT, VENV, WHEELS_LOCK, SetupError, install_locked, install_whole, run, say, uninstall

READY = VENV / "ready"
UNFINISHED = VENV / "unfinished"  # app/services/preparation.py reads it
NO_COMPILER = 3  # exit code, which the window knows too
COMPILED_LOCK = ROOT / "packaging" / "compiled.lock"
WEIGHTS_LOCK = ROOT / "packaging" / "weights.lock"

# Install folders: without them every library is packed three times. LLAVA (images) is not used yet. Without AMX, which
# no laptop has: GCC 12's _tile_loadconfig tells the compiler of 8 of the 64 bytes that it reads, so the others are
# never written, and the first product on a processor with AMX is a general protection fault.
BUILD_OPTIONS = (
    "-DCMAKE_CXX_FLAGS=-U__AMX_INT8__ -DLLAVA_BUILD=OFF -DCMAKE_INSTALL_BINDIR=llama_cpp/lib"
    " -DCMAKE_INSTALL_LIBDIR=llama_cpp/lib -DCMAKE_INSTALL_INCLUDEDIR=llama_cpp/include"
)

LLAMA = Compiled("llama-cpp-python", "llama.cpp", COMPILED_LOCK, 4, 1_000_000_000, BUILD_OPTIONS)

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
            stay_in_the_background(LLAMA.memory)
        if given.without_waiting and is_started():
            return 0
        with alone():
            if given.background:
                finish()
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
    # These are compiled or downloaded for minutes anyway, by who knows why.
    given.without_waiting &= not (given.native or given.training or chosen() or pytorch.chosen())
    return given


def set_up(native: str | None, training: str | None, without_waiting: bool) -> None:
    """All of it; None: what was chosen before stays."""
    kept = chosen()  # asked now: a new .venv would have forgotten it
    trained = pytorch.chosen()
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
    if is_ready(stamp) or (without_waiting and is_started(stamp)):
        return
    require_tools(without_waiting)
    if not is_started(stamp):
        start()
    if without_waiting and not LLAMA.cached() and ik_computes():
        leave_the_rest(stamp)
        say("ready; the window compiles llama.cpp while you chat, or `make setup` does so now")
        return
    install_llama(stamp)


def start() -> None:
    """All but llama.cpp, of which nothing is left to download."""
    make_venv()
    install_locked("libraries", WHEELS_LOCK)
    with ThreadPoolExecutor() as threads:  # one waits for the network, another one for the compiler
        steps = [
            threads.submit(install_locked, "the default model (90 MB)", WEIGHTS_LOCK),
            threads.submit(compile_ik_native),
            threads.submit(LLAMA.fetch),
        ]
    for step in steps:
        step.result()
    install_qt_libraries()


def leave_the_rest(stamp: str) -> None:
    """For `finish`."""
    uninstall(LLAMA.package)  # one of an earlier checkout
    READY.unlink(missing_ok=True)
    command = [sys.executable, str(Path(__file__).resolve()), "--background"]
    UNFINISHED.write_text(json.dumps({"stamp": stamp, "command": command}))


def finish() -> None:
    """What `leave_the_rest` left. Raises SetupError."""
    stamp = fingerprint()
    if is_ready(stamp):
        return
    if not is_started(stamp):
        raise SetupError("the checkout has changed since it was set up: run `make setup`")
    install_llama(stamp)


def install_llama(stamp: str) -> None:
    install_whole(LLAMA.wheel())
    READY.write_text(stamp)
    UNFINISHED.unlink(missing_ok=True)
    say("ready")


def is_ready(stamp: str) -> bool:
    return READY.exists() and READY.read_text() == stamp


def is_started(stamp: str = "") -> bool:
    """Is all there but llama.cpp, or that too? Asked without the lock, so that no window waits for another one's
    background."""
    stamp = stamp or fingerprint()
    try:
        return is_ready(stamp) or json.loads(UNFINISHED.read_text())["stamp"] == stamp
    except (OSError, ValueError):
        return False


def ik_computes() -> bool:
    """Can the prebuilt ik_llama.cpp answer on this processor? The engine itself says so."""
    ask = "from engine.runtime.ik import needs; exit(needs.library_file() is None or bool(needs.missing_features()))"
    return subprocess.run([PYTHON, "-c", ask], cwd=ROOT, capture_output=True).returncode == 0


def fingerprint() -> str:
    """What the environment was made from: lock files, these files, the interpreter and the checkout's place."""
    digest = hashlib.sha256(f"{sys.version}{ROOT}{BUILD_OPTIONS}".encode())
    for path in (WHEELS_LOCK, COMPILED_LOCK, WEIGHTS_LOCK, *IK_NATIVE, *sorted(Path(__file__).parent.glob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def require_tools(without_waiting: bool) -> None:
    if sys.version_info < (3, 11):  # noqa: UP036  the interpreter may be any
        raise SetupError(f"Python 3.11 or newer is needed, this is {platform.python_version()}.")
    if not LLAMA.cached() and not without_waiting:  # said before minutes of downloads
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


if __name__ == "__main__":
    sys.exit(main())
