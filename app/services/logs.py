"""Log files of limited size: one for the window (Python and Qt), one for what the engine prints."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

from common.log_format import PrivateFormatter

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
MAX_BYTES, KEPT = 1_000_000, 1
LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


class PrivateFile(RotatingFileHandler):
    """A rotating log file that only the user can read; failures to write it are ignored."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=MAX_BYTES, backupCount=KEPT, encoding="utf-8", delay=True)
        self.setFormatter(PrivateFormatter(FORMAT))

    def _open(self):  # type: ignore[no-untyped-def]  # the stub's type is private
        os.close(os.open(self.baseFilename, os.O_CREAT | os.O_APPEND, 0o600))
        return super()._open()

    def handleError(self, record: logging.LogRecord) -> None:
        """Ignore OSError, such as that of a full disk; let Python print a bug.

        A full disk is reported where the user's own text cannot be stored.
        """
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)

    def close(self) -> None:
        with contextlib.suppress(OSError):  # a flush that failed before fails again
            super().close()


def start_logging(folder: Path) -> None:
    """Send Python's and Qt's messages to `folder`/window.log, the engine's to `folder`/engine.log."""
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    root.addHandler(PrivateFile(folder / "window.log"))
    engine = logging.getLogger("engine.stderr")
    engine.addHandler(PrivateFile(folder / "engine.log"))
    engine.propagate = False
    qInstallMessageHandler(_qt_message)


def stop_logging() -> None:
    """Close the files that `start_logging` opened."""
    qInstallMessageHandler(None)
    for logger in (logging.getLogger(), logging.getLogger("engine.stderr")):
        for handler in [handler for handler in logger.handlers if isinstance(handler, PrivateFile)]:
            logger.removeHandler(handler)
            handler.close()


def _qt_message(kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
    logging.getLogger("qt").log(LEVELS.get(kind, logging.WARNING), "%s", text)
