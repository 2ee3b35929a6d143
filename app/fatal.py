"""Says why there is no window: on stderr, and where nobody reads that, on the screen. Works without Qt too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

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
