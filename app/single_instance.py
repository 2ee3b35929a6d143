"""One window per data folder: a second start hands its wish to the first and ends."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from app.process_lock import ProcessLock
from common.failures import Failure

log = logging.getLogger(__name__)
WAIT_MS = 200
PATIENCE_SECONDS = 20.0  # the first one may just be starting, beside busy programs
LONGEST_LINE = 65_536


class SingleInstance(QObject):
    """The lock says who is first (the system releases it, however its owner ends), the socket carries the wishes.

    `raised` carries the path of the model a second start asked for, or "".
    """

    raised = Signal(str)

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:24]
        self._name = f"chickadee-{name}"
        self._folder = folder
        self._lock = ProcessLock(folder / "window.lock")
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._accept)

    def claim(self, model: str = "") -> bool:
        """True: this is the first. False: another one is, and has been told. Raises Failure when it does not answer."""
        wish = Wish(self._name, model)
        until = time.monotonic() + PATIENCE_SECONDS
        while not self._take():
            if wish.granted():
                return False
            if time.monotonic() > until:
                raise Failure("already_running.hung")
        QLocalServer.removeServer(self._name)  # left behind by a window that was killed
        if not self._server.listen(self._name):
            log.warning("cannot listen for a second start: %s", self._server.errorString())
        return True

    def release(self) -> None:
        self._server.close()
        self._lock.release()

    def _take(self) -> bool:
        try:
            return self._lock.take()
        except OSError as error:
            raise Failure("data_folder.locked", str(error), folder=self._folder) from error

    def _accept(self) -> None:
        socket = self._server.nextPendingConnection()
        if socket is not None:
            socket.readyRead.connect(lambda: self._hear(socket))
            # The server owns the socket. deleteLater() on `disconnected` crashed in QLocalSocket's destructor.
            self._hear(socket)

    def _hear(self, socket: QLocalSocket) -> None:
        if not socket.canReadLine():
            if socket.bytesAvailable() > LONGEST_LINE:
                socket.abort()
            return
        try:
            model = json.loads(bytes(socket.readLine().data()))["model"]
        except (ValueError, KeyError, TypeError) as error:
            log.warning("a second start said something odd: %s", error)
            socket.abort()
            return
        socket.write(b"ok\n")
        socket.flush()
        self.raised.emit(str(model))


class Wish:
    """What a second start asks of the first: once, on one connection, however long that takes to answer."""

    def __init__(self, name: str, model: str) -> None:
        self._name = name
        self._line = json.dumps({"model": model}).encode() + b"\n"
        self._socket = QLocalSocket()

    def granted(self) -> bool:
        """Wait a little. A first one that is only starting does not listen yet, one that is ending no longer does."""
        socket = self._socket
        if socket.state() != QLocalSocket.LocalSocketState.ConnectedState:
            socket.abort()
            socket.connectToServer(self._name)
            if not socket.waitForConnected(WAIT_MS):
                time.sleep(WAIT_MS / 4000)  # refused at once
                return False
            socket.write(self._line)
        socket.waitForReadyRead(WAIT_MS)
        return bytes(socket.readAll().data()).startswith(b"ok")
