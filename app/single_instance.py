"""One window per data folder: a second start hands its wish to the first and ends."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from models.failures import Failure

log = logging.getLogger(__name__)
WAIT_MS = 500
PATIENCE_SECONDS = 3.0
LONGEST_LINE = 65_536


class SingleInstance(QObject):
    """The lock file says who is first (it knows when its owner is dead), the socket carries the wishes.

    `raised` carries the path of the model a second start asked for, or "".
    """

    raised = Signal(str)

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:24]
        self._name = f"chickadee-{name}"
        self._folder = folder
        self._lock = QLockFile(str(folder / "window.lock"))
        self._lock.setStaleLockTime(0)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._accept)

    def claim(self, model: str = "") -> bool:
        """True: this is the first. False: another one is, and has been told. Raises Failure when it does not answer."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            if self._lock.tryLock(0):
                QLocalServer.removeServer(self._name)  # left behind by a window that was killed
                if not self._server.listen(self._name):
                    log.warning("cannot listen for a second start: %s", self._server.errorString())
                return True
            if self._lock.error() != QLockFile.LockError.LockFailedError:
                sentence = f"Chickadee cannot write to its folder {self._folder}. Check its permissions and free space."
                raise Failure("data_folder", sentence, self._lock.error().name)
            if self._tell(model):
                return False
            if time.monotonic() > until:
                sentence = "Chickadee is already running but does not answer. Close it, then start it again."
                raise Failure("already_running", sentence)
            time.sleep(0.05)  # the other one may just be starting or ending

    def release(self) -> None:
        self._server.close()
        self._lock.unlock()

    def _tell(self, model: str) -> bool:
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if not socket.waitForConnected(WAIT_MS):
            return False
        socket.write(json.dumps({"model": model}).encode() + b"\n")
        told = socket.waitForReadyRead(4 * WAIT_MS) and bytes(socket.readAll().data()).startswith(b"ok")
        socket.disconnectFromServer()
        return told

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
