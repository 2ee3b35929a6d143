"""Libraries and programs that come with the system, and the command by which its package manager installs them.

Standard library only: set-up uses this before anything is installed, and the window before Qt is loaded.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """Library, named as the dynamic linker knows it, or program, with the packages that hold it.

    Fedora and openSUSE also find a library by its name, so a library needs no name of theirs.
    """

    name: str
    debian: str
    arch: str
    rpm: str = ""


def _libraries(debian: str, arch: str, *names: str) -> tuple[Part, ...]:
    return tuple(Part(name, debian, arch, f"'{name}()(64bit)'") for name in names)


# Qt's libraries and those of its plugins that PySide6 links to, but does not contain.
WINDOW = (
    *_libraries("libbrotli1", "brotli", "libbrotlicommon.so.1", "libbrotlidec.so.1"),
    *_libraries("libdbus-1-3", "dbus", "libdbus-1.so.3"),
    *_libraries("libegl1", "libglvnd", "libEGL.so.1"),
    *_libraries("libfontconfig1", "fontconfig", "libfontconfig.so.1"),
    *_libraries("libfreetype6", "freetype2", "libfreetype.so.6"),
    *_libraries("libgcc-s1", "gcc-libs", "libgcc_s.so.1"),
    *_libraries("libgl1", "libglvnd", "libGL.so.1"),
    *_libraries("libglib2.0-0", "glib2", "libglib-2.0.so.0", "libgthread-2.0.so.0"),
    *_libraries("libgssapi-krb5-2", "krb5", "libgssapi_krb5.so.2"),
    *_libraries("libstdc++6", "gcc-libs", "libstdc++.so.6"),
    *_libraries("libx11-6", "libx11", "libX11.so.6"),
    *_libraries("libxkbcommon0", "libxkbcommon", "libxkbcommon.so.0"),
    *_libraries("libzstd1", "zstd", "libzstd.so.1"),
    *_libraries("zlib1g", "zlib", "libz.so.1"),
)
X11 = (
    *_libraries("libx11-xcb1", "libx11", "libX11-xcb.so.1"),
    *_libraries("libxcb-cursor0", "xcb-util-cursor", "libxcb-cursor.so.0"),
    *_libraries("libxcb-icccm4", "xcb-util-wm", "libxcb-icccm.so.4"),
    *_libraries("libxcb-image0", "xcb-util-image", "libxcb-image.so.0"),
    *_libraries("libxcb-keysyms1", "xcb-util-keysyms", "libxcb-keysyms.so.1"),
    *_libraries("libxcb-randr0", "libxcb", "libxcb-randr.so.0"),
    *_libraries("libxcb-render-util0", "xcb-util-renderutil", "libxcb-render-util.so.0"),
    *_libraries("libxcb-render0", "libxcb", "libxcb-render.so.0"),
    *_libraries("libxcb-shape0", "libxcb", "libxcb-shape.so.0"),
    *_libraries("libxcb-shm0", "libxcb", "libxcb-shm.so.0"),
    *_libraries("libxcb-sync1", "libxcb", "libxcb-sync.so.1"),
    *_libraries("libxcb-util1", "xcb-util", "libxcb-util.so.1"),
    *_libraries("libxcb-xfixes0", "libxcb", "libxcb-xfixes.so.0"),
    *_libraries("libxcb-xkb1", "libxcb", "libxcb-xkb.so.1"),
    *_libraries("libxcb1", "libxcb", "libxcb.so.1"),
    *_libraries("libxkbcommon-x11-0", "libxkbcommon-x11", "libxkbcommon-x11.so.0"),
)
WAYLAND = (
    *_libraries("libwayland-client0", "wayland", "libwayland-client.so.0"),
    *_libraries("libwayland-cursor0", "wayland", "libwayland-cursor.so.0"),
)
# Those that only other libraries of the bundle link to.
INDIRECT = (
    *_libraries("libexpat1", "expat", "libexpat.so.1"),  # of Debian's own Python, and fontconfig's
    *_libraries("libglx0", "libglvnd", "libGLX.so.0"),
    *_libraries("libgomp1", "gcc-libs", "libgomp.so.1"),
    *_libraries("libopengl0", "libglvnd", "libOpenGL.so.0"),
    *_libraries("libwayland-egl1", "wayland", "libwayland-egl.so.1"),
    *_libraries("libuuid1", "util-linux-libs", "libuuid.so.1"),
    *_libraries("libxcb-glx0", "libxcb", "libxcb-glx.so.0"),
)
LIBRARIES = WINDOW + X11 + WAYLAND + INDIRECT
COMPILERS = (Part("cc", "gcc", "gcc", "gcc"), Part("c++", "g++", "gcc", "gcc-c++"))
PYTHON = f"python3.{sys.version_info[1]}"
VENV = Part("venv", f"{PYTHON}-venv", "python", "python3")
LIBPYTHON = Part(f"lib{PYTHON}.so.1.0", f"lib{PYTHON}", "python", f"{PYTHON}-libs")  # PyInstaller packs it

# The program of each package manager, the arguments that install, and whose names of packages it knows.
MANAGERS = (
    ("apt-get", "install", "debian"),
    ("dnf", "install", "rpm"),
    ("zypper", "install", "rpm"),
    ("pacman", "-S --needed", "arch"),
)


def missing_libraries(wanted: Iterable[Part]) -> list[Part]:
    """Return the libraries that the dynamic linker does not find; other systems than Linux have them all."""
    return [part for part in wanted if sys.platform.startswith("linux") and not _loads(part.name)]


def missing_window_libraries() -> list[Part]:
    """Return the libraries that the window needs on this display and the dynamic linker does not find.

    Where Qt can choose between Wayland and X11, the libraries of one of them suffice.
    """
    groups = {"wayland": WAYLAND, "xcb": X11}
    missing = [missing_libraries(groups.get(name, ())) for name in qt_platforms()]
    return missing_libraries(WINDOW) + min(missing, key=len, default=[])


def qt_platforms() -> list[str]:
    """Return the names of Qt's platform plugins that fit this display, the likeliest first."""
    requested = os.environ.get("QT_QPA_PLATFORM", "")
    if requested:
        return [name.split(":")[0] for name in requested.split(";")]
    likely = {"wayland": "WAYLAND_DISPLAY", "xcb": "DISPLAY"}
    return [name for name, variable in likely.items() if os.environ.get(variable)]


def missing_programs(wanted: Iterable[Part]) -> list[Part]:
    return [part for part in wanted if not shutil.which(part.name)]


def install_command(parts: Iterable[Part]) -> str:
    """Return the command that installs the parts; "" if this system's package manager is not known here."""
    installed = next((manager for manager in MANAGERS if shutil.which(manager[0])), None)
    if not installed:
        return ""
    manager, arguments, names = installed
    command = " ".join([manager, arguments, *dict.fromkeys(getattr(part, names) for part in parts)])
    if is_root():
        return command
    return f"sudo {command}" if shutil.which("sudo") else f'su -c "{command}"'


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0  # Windows has no such function


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True
