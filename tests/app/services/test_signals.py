"""An idle program hears a signal at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.app.conftest import SECONDS
from tests.app.test_start import CHECKOUT

IDLE = """
import signal
from PySide6.QtCore import QCoreApplication, QTimer
from app.services.signals import Signals
application = QCoreApplication([])
signals = Signals(application, [signal.SIGTERM], application.quit)
QTimer.singleShot(0, lambda: print("idle", flush=True))
application.exec()
signals.close()
print("ended", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
def test_a_program_without_timers_ends_when_it_is_told_to() -> None:
    process = subprocess.Popen([sys.executable, "-c", IDLE], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "idle\n"
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=SECONDS / 1000)[0] == "ended\n"
    finally:
        process.kill()
