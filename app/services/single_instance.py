"""One window per data folder: a second start hands its wish to the first and ends."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
import time
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from common.failures import Failure

log = logging.getLogger(__name__)
WAIT_MS = 200
PATIENCE_SECONDS = 20.0  # the first one may just be starting, beside busy programs
LONGEST_LINE = 65_536


# A lock that at most one process holds, and that the system releases however its owner ends.
if sys.platform == "win32":
    from PySide6.QtCore import QLockFile

    class ProcessLock:
        """QLockFile keeps its file open for itself alone there, so that only a dead owner's can be deleted."""

        def __init__(self, path: Path) -> None:
            self._path = path
            self._file = QLockFile(str(path))
            self._file.setStaleLockTime(0)

        def take(self) -> bool:
            """Is it ours now? Raises OSError where the file cannot be made."""
            if self._file.tryLock(0):
                return True
            if self._file.error() != QLockFile.LockError.LockFailedError:
                raise OSError(f"{self._path}: {self._file.error().name}")
            return False

        def release(self) -> None:
            self._file.unlock()

else:
    import fcntl

    class ProcessLock:
        """The kernel's own lock on a file that stays. QLockFile deletes its file, and a dead owner's: of several that
        find one at the same time, two could each delete what they took for it, and both were first."""

        def __init__(self, path: Path) -> None:
            self._path = path
            self._file: int | None = None

        def take(self) -> bool:
            """Is it ours now? Raises OSError where the file cannot be made."""
            if self._file is not None:
                return True
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                return False
            except OSError as error:  # a file system without locks: better two windows than none
                log.warning("%s cannot be locked: %s", self._path, error)
            if not self._is_there(file):  # deleted between both: others lock another file of that name
                os.close(file)
                return False
            self._file = file
            return True

        def release(self) -> None:
            """Somebody else's now; the file stays, for what is deleted could be locked once more."""
            if self._file is not None:
                os.close(self._file)
                self._file = None

        def _is_there(self, file: int) -> bool:
            try:
                return os.path.samestat(os.fstat(file), self._path.stat())
            except FileNotFoundError:
                return False


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
