"""The application hears of a file that macOS opens with the running program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
OPEN_A_FILE = """
from PySide6.QtGui import QFileOpenEvent
from app.application import Application

application = Application(["chickadee"])
application.file_opened.connect(lambda path: print(ascii(path)))
assert application.sendEvent(application, QFileOpenEvent("/models/Zaunkönig 鸟.gguf"))
"""


def test_a_file_that_the_system_opens_is_told() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPEN_A_FILE], cwd=CHECKOUT, env=os.environ | {"QT_QPA_PLATFORM": "offscreen"},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, ascii("/models/Zaunkönig 鸟.gguf")), done.stderr
