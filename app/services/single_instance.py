"""One window per data folder: a second start passes its request to the first and ends."""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path

from filelock import FileLock, Timeout
from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from app.services.running_program import MOST_TEXT, MOST_TOKEN, server_name, start_request
from common.failures import Failure

log = logging.getLogger(__name__)
WAIT_MS = 200
PATIENCE_SECONDS = 20.0  # the first program may just be starting on a busy computer
LONGEST_LINE = 262_144


class SingleInstance(QObject):
    """The first program on a data folder, found by a lock, or a second one, which sends it a request through a socket.

    The system releases the lock however its owner ends. `raised` carries the path of the model that a second start
    asked for, or "". `asked` carries the question of one that wants the quick window, "" for none, and the desktop's
    activation token.
    """

    raised = Signal(str)
    asked = Signal(str, str)

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = server_name(folder)
        self._folder = folder
        self._lock = FileLock(folder / "window.lock", mode=0o600, is_singleton=False)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._accept)

    def claim(self, model: str = "", question: str | None = None) -> bool:
        """Return True if this program is the first, and False if another one is and has accepted the request.

        The request is to load `model`, or to ask `question` in the quick window.
        Raises Failure if the first one does not answer within PATIENCE_SECONDS.
        """
        line, socket = start_request(model, question), QLocalSocket()
        until = time.monotonic() + PATIENCE_SECONDS
        while not self._acquire():
            if self._is_accepted(line, socket):
                return False
            if time.monotonic() > until:
                raise Failure("already_running.hung")
        QLocalServer.removeServer(self._name)  # left behind by a window that was killed
        if not self._server.listen(self._name):
            log.warning("cannot listen for a second start: %s", self._server.errorString())
        return True

    def stop_listening(self) -> None:
        """Accept no more requests, because this program is ending: a start that follows waits and becomes the first."""
        self._server.close()

    def release(self) -> None:
        self.stop_listening()
        self._lock.release()

    def _acquire(self) -> bool:
        """Try to take the lock; return whether we hold it. Raises Failure if the file cannot be made."""
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            return False
        except OSError as error:
            raise Failure("data_folder.locked", str(error), folder=self._folder) from error
        return True

    def _accept(self) -> None:
        socket = self._server.nextPendingConnection()
        if socket is not None:
            socket.readyRead.connect(lambda: self._read_request(socket))
            # The server owns the socket. deleteLater() on `disconnected` crashed in QLocalSocket's destructor.
            self._read_request(socket)

    def _read_request(self, socket: QLocalSocket) -> None:
        if not socket.canReadLine():
            if socket.bytesAvailable() > LONGEST_LINE:
                socket.abort()
            return
        try:
            request = json.loads(bytes(socket.readLine().data()))
            model, question, token = request["model"], request.get("ask"), request.get("token", "")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            log.warning("a second start said something odd: %s", type(error).__name__)
            socket.abort()
            return
        socket.write(b"ok\n")
        if sys.platform != "win32":  # there `write` sends at once, and `flush` was seen to hang
            socket.flush()
        if isinstance(question, str):
            self.asked.emit(question[:MOST_TEXT], str(token)[:MOST_TOKEN])
        else:
            self.raised.emit(str(model))

    def _is_accepted(self, line: bytes, socket: QLocalSocket) -> bool:
        """Wait up to WAIT_MS and return whether the first program has accepted the line, which is sent once.

        A program that is only starting does not listen yet, one that is ending no longer does, and a busy one may
        take long to answer.
        """
        if socket.state() != QLocalSocket.LocalSocketState.ConnectedState:
            socket.abort()
            socket.connectToServer(self._name)
            if not socket.waitForConnected(WAIT_MS):
                time.sleep(WAIT_MS / 4000)  # a refused connection returns at once
                return False
            socket.write(line)
        socket.waitForReadyRead(WAIT_MS)
        return bytes(socket.readAll().data()).startswith(b"ok")
