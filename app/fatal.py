"""Why there is no window: what Qt lacks is found before it ends the program, and told on stderr or the screen. Works
without Qt."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from common.failures import Failure
from common.sentences import Sentence

# Debian's and Ubuntu's packages of what a bare system lacks most often.
PACKAGES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb.so.1": "libxcb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxkbcommon.so.0": "libxkbcommon0",
}


def require_platform() -> None:
    """Before the first QApplication: can the plugin that draws on this display be loaded? Raises Failure.

    Costs nothing: Qt loads the same file next."""
    if not sys.platform.startswith("linux"):
        return
    problems = [problem for name in platforms() if (problem := problem_of(plugin(name)))]
    if problems and len(problems) == len(platforms()):
        raise lacking(problems[0])


def platforms() -> list[str]:
    """Qt's plugins that could be for this display, likeliest first."""
    wished = os.environ.get("QT_QPA_PLATFORM", "")
    if wished:
        return [name.split(":")[0] for name in wished.split(";")]
    likely = {"wayland": "WAYLAND_DISPLAY", "xcb": "DISPLAY"}
    return [name for name, variable in likely.items() if os.environ.get(variable)]


def plugin(name: str) -> Path | None:
    """Where it lies, None if this Qt does not come from the package index, or has none of that name."""
    found = importlib.util.find_spec("PySide6")
    places = list(found.submodule_search_locations or ()) if found else []
    files = [Path(place) / "Qt" / "plugins" / "platforms" / f"libq{name}.so" for place in places]
    return next((file for file in files if file.exists()), None)


def problem_of(file: Path | str | None) -> str:
    """What the dynamic linker says against the file (or, by its name, the library); "" if nothing."""
    if file is None:
        return ""
    try:
        ctypes.CDLL(str(file))
    except OSError as error:
        return str(error.__cause__ or error)  # a packaged app says it in words of PyInstaller's
    return ""


def lacking(said: str) -> Failure:
    """The sentence for what the dynamic linker or Python's import said, which names one library: with all others."""
    if not missing_in(said):
        return Failure("qt.libraries", said, reason=said)
    names = list(dict.fromkeys([*missing_in(said), *also_missing()]))
    package = " ".join(sorted({PACKAGES[name] for name in names if name in PACKAGES}))
    how = Sentence.of("how.apt", package=package) if package else Sentence.of("how.package_manager")
    return Failure("missing_library.of_system", said, names=", ".join(names), how=how)


def missing_in(said: str) -> list[str]:
    """The library that a text of the dynamic linker's says is not there, if it does."""
    return re.findall(r"^(lib\S+): cannot open shared object file", said)


def also_missing() -> list[str]:
    """Of all that Qt may want on this display, what is not there: so that nobody installs one after the other."""
    wanted = [name for name in PACKAGES if "wayland" in platforms() or not name.startswith("libwayland")]
    return [name for library in wanted for name in missing_in(problem_of(library))]


# --- telling ----------------------------------------------------------------------------------------------------------

TITLE = "Chickadee"
DISPLAYLESS = ("offscreen", "minimal", "vnc", "linuxfb", "eglfs")  # Qt's platforms without a screen to look at
# What a Linux desktop has to show a sentence with; the first that is there does.
SPEAKERS = (
    ("zenity", "--error", "--no-markup", f"--title={TITLE}", "--text"),
    ("kdialog", "--title", TITLE, "--error"),
    ("xmessage", "-center"),
    ("notify-send", TITLE),
)


def tell(sentence: str) -> None:
    """Return when it was said, or read."""
    if sys.stderr is not None:  # a window's program on Windows has none
        sys.stderr.write(sentence + "\n")
    if "PySide6.QtWidgets" in sys.modules and show(sentence):
        return
    if reads_stderr() or not has_display():
        return
    for command in SPEAKERS:
        if shutil.which(command[0]) and subprocess.run([*command, sentence], capture_output=True).returncode in (0, 1):
            return


def reads_stderr() -> bool:
    """Does somebody? A packaged program that was started from a menu has it go where no user looks."""
    return not getattr(sys, "frozen", False) or (sys.stderr is not None and sys.stderr.isatty())


def has_display() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def show(sentence: str) -> bool:
    """By Qt, if it has a display already. Who started the program by its icon sees no terminal."""
    from PySide6.QtWidgets import QApplication, QMessageBox

    if not isinstance(QApplication.instance(), QApplication) or QApplication.platformName() in DISPLAYLESS:
        return False
    QMessageBox.critical(None, TITLE, sentence)
    return True
