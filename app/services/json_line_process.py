"""Child processes that are Chickadee's own programs: made so that they find its modules, and ended for certain."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QObject, QProcess

CHECKOUT = Path(__file__).resolve().parents[2]
KILLED_MS = 30_000  # a killed process is gone at once, unless the machine has no time for it


def new_process(parent: QObject) -> QProcess:
    """Not started yet. In a packaged app the program itself carries the modules; else they are in the checkout."""
    process = QProcess(parent)
    if not getattr(sys, "frozen", False):
        process.setWorkingDirectory(str(CHECKOUT))
    return process


def end_process(process: QProcess, grace_ms: int = 0, terminate: bool = False) -> bool:
    """Close its stdin, kill it if it goes on for `grace_ms`, and let go of it; its signals are heard no more.
    Qt complains of a process that still runs when its QProcess is destroyed.

    `terminate`: it is asked by a signal and given as long again before it is killed. Did it end by itself?"""
    process.blockSignals(True)
    process.closeWriteChannel()
    willing = _ended(process, grace_ms)
    if not willing and terminate:
        process.terminate()
        _ended(process, grace_ms)
    if not _ended(process, 0):
        process.kill()
        _ended(process, KILLED_MS)
    process.deleteLater()
    return willing


def _ended(process: QProcess, within_ms: int) -> bool:
    if process.state() != QProcess.ProcessState.NotRunning:
        process.waitForFinished(within_ms)
    return process.state() == QProcess.ProcessState.NotRunning


class LineBuffer:
    """Keeps the unfinished line; `feed` returns the lines that a piece has completed, without their line breaks."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        # Only the new piece is searched: a long line in small pieces must not cost a scan for each.
        if b"\n" not in piece:
            self._rest += piece
            return []
        *lines, rest = piece.split(b"\n")
        lines[0] = bytes(self._rest) + lines[0]
        self._rest = bytearray(rest)
        return [line for line in lines if line.strip()]
