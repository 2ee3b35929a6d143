"""Says why there is no window: on stderr, and where nobody reads that, on the screen. Works without Qt too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

TITLE = "Chickadee"
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
    if seen():
        return
    if "PySide6.QtWidgets" in sys.modules and show(sentence):
        return
    for command in SPEAKERS:
        if shutil.which(command[0]) and subprocess.run([*command, sentence], capture_output=True).returncode in (0, 1):
            return


def seen() -> bool:
    """Does somebody, or a program, read stderr? One started from a menu has it go nowhere a user looks."""
    if not getattr(sys, "frozen", False):
        return True
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    return os.environ.get("QT_QPA_PLATFORM") == "offscreen" or not (
        sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )


def show(sentence: str) -> bool:
    """By Qt, if it has a display already."""
    from PySide6.QtWidgets import QApplication, QMessageBox

    if QApplication.instance() is None:
        return False
    QMessageBox.critical(None, TITLE, sentence)
    return True
