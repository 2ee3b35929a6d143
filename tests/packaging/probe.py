"""Tiny package, as a source archive and as a wheel, that set-up fetches, builds and installs in its tests."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

NAME, VERSION = "chickadee-probe", "0.1"
PYPROJECT = f"""
[build-system]
requires = ["scikit-build-core"]
build-backend = "scikit_build_core.build"
[project]
name = "{NAME}"
version = "{VERSION}"
[tool.scikit-build]
wheel.packages = ["probe"]
"""
# The archive's own CMakeLists.txt, which the build replaces: the real archive's does not build.
OWN_CMAKE = "message(FATAL_ERROR own)"
# Two steps, without a compiler. The second fails while PROBE_BREAKS is set, as if the compile were interrupted there.
CMAKE = """
cmake_minimum_required(VERSION 3.21)
project(probe LANGUAGES NONE)
add_custom_command(OUTPUT first COMMAND sh -c "echo first >> \\$PROBE_TRACE && touch first" VERBATIM)
add_custom_command(OUTPUT second DEPENDS first COMMAND sh -c "test -z \\$PROBE_BREAKS && touch second" VERBATIM)
add_custom_target(all_steps ALL DEPENDS second)
install(FILES ${CMAKE_BINARY_DIR}/second DESTINATION probe)
"""


def write_source(folder: Path) -> str:
    """Write the source archive and return its sha256, which a lock file pins."""
    files = {"pyproject.toml": PYPROJECT, "CMakeLists.txt": OWN_CMAKE, "probe/__init__.py": "KIND = 'compiled'\n"}
    files["PKG-INFO"] = f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n"
    stem = f"{NAME.replace('-', '_')}-{VERSION}"
    path = folder / f"{stem}.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"{stem}/{name}")
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_wheel(folder: Path) -> str:
    stem = f"{NAME.replace('-', '_')}-{VERSION}"
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("probe/__init__.py", "KIND = 'prebuilt'\n")
        archive.writestr(f"{stem}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n")
        archive.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{stem}.dist-info/RECORD", f"probe/__init__.py,,\n{stem}.dist-info/RECORD,,\n")
    return hashlib.sha256(path.read_bytes()).hexdigest()
