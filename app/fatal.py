"""Failures before there is a window: finds what Qt lacks before Qt ends the program, and shows it. Works without Qt.

The sentence goes to stderr or to the screen.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from common.failures import Failure
from common.sentences import Sentence
from common.system_packages import LIBRARIES, Part, install_command, missing_window_libraries, qt_platforms


def require_platform() -> None:
    """Check that the plugin that draws on this display can be loaded; raise Failure with what is missing if it cannot.

    Call this before the first QApplication. The check costs no time, because Qt loads the same file next.
    """
    if not sys.platform.startswith("linux"):
        return
    problems = [problem for name in qt_platforms() if (problem := problem_of(plugin(name)))]
    if problems and len(problems) == len(qt_platforms()):
        raise missing_library_failure(problems[0])


def plugin(name: str) -> Path | None:
    """Return the plugin's file; None if this Qt does not come from the package index or has no plugin of that name."""
    spec = importlib.util.find_spec("PySide6")
    places = list(spec.submodule_search_locations or ()) if spec else []
    files = [Path(place) / "Qt" / "plugins" / "platforms" / f"libq{name}.so" for place in places]
    return next((file for file in files if file.exists()), None)


def problem_of(file: Path | str | None) -> str:
    """Return the dynamic linker's complaint about a file or a library named by its soname; "" if there is none."""
    if file is None:
        return ""
    try:
        ctypes.CDLL(str(file))
    except OSError as error:
        return str(error.__cause__ or error)  # in a packaged app the error itself has PyInstaller's words
    return ""


def missing_library_failure(error_text: str) -> Failure:
    """Return the Failure for `error_text`, in which the dynamic linker or Python's import names one missing library.

    The sentence names all other missing libraries too.
    """
    if not libraries_missing_in(error_text):
        return Failure("qt.libraries", error_text, reason=error_text)
    named = libraries_missing_in(error_text)
    parts = dict.fromkeys([*(part for part in LIBRARIES if part.name in named), *missing_window_libraries()])
    names = dict.fromkeys([*named, *(part.name for part in parts)])
    return Failure("missing_library.of_system", error_text, names=", ".join(names), how=how_to_install(parts))


def how_to_install(parts: Collection[Part]) -> Sentence:
    """Return the sentence on how parts of the system are installed."""
    command = install_command(parts) if parts else ""
    return Sentence.of("how.command", command=command) if command else Sentence.of("how.package_manager")


def libraries_missing_in(error_text: str) -> list[str]:
    """Return the libraries that a message of the dynamic linker says are missing: one or none."""
    return re.findall(r"^(lib\S+): cannot open shared object file", error_text)


# --- showing it -------------------------------------------------------------------------------------------------------

TITLE = "Chickadee"
DISPLAYLESS = ("offscreen", "minimal", "vnc", "linuxfb", "eglfs")  # Qt's platforms without a screen to look at
# Programs of Linux desktops that can show a sentence; the first one that is installed is used.
MESSAGE_PROGRAMS = (
    ("zenity", "--error", "--no-markup", f"--title={TITLE}", "--text"),
    ("kdialog", "--title", TITLE, "--error"),
    ("xmessage", "-center"),
    ("notify-send", TITLE),
)


def announce(sentence: str, waits: bool = True) -> None:
    """Show the sentence on stderr and, if nobody reads stderr, on the screen; return when it was shown or read.

    `waits` False shows it on stderr only: nobody may be there to close a dialog.
    """
    if sys.stderr is not None:  # a program without a console on Windows has none
        sys.stderr.write(sentence + "\n")
    if not waits:
        return
    if "PySide6.QtWidgets" in sys.modules and show_in_qt(sentence):
        return
    if reads_stderr() or not has_display():
        return
    for command in MESSAGE_PROGRAMS:
        if shutil.which(command[0]) and subprocess.run([*command, sentence], capture_output=True).returncode in (0, 1):
            return


def reads_stderr() -> bool:
    """Return whether a user can see stderr: in a packaged program started from a menu, only if stderr is a terminal."""
    return not getattr(sys, "frozen", False) or (sys.stderr is not None and sys.stderr.isatty())


def has_display() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def show_in_qt(sentence: str) -> bool:
    """Show the sentence in a message box if Qt has a display; return whether it was shown.

    A user who started the program by its icon sees no terminal.
    """
    from PySide6.QtWidgets import QApplication, QMessageBox

    if not isinstance(QApplication.instance(), QApplication) or QApplication.platformName() in DISPLAYLESS:
        return False
    QMessageBox.critical(None, TITLE, sentence)
    return True
