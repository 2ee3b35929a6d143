"""One window per data folder: a second start passes its request to the first and ends."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from app.services.running_program import MOST_TEXT, MOST_TOKEN, server_name, start_request
from common.failures import Failure

log = logging.getLogger(__name__)
WAIT_MS = 200
PATIENCE_SECONDS = 20.0  # the first program may just be starting on a busy computer
LONGEST_LINE = 262_144


# A lock that at most one process holds, and that the system releases however its owner ends.
if sys.platform == "win32":
    from PySide6.QtCore import QLockFile

    class ProcessLock:
        """A QLockFile, which keeps its file open exclusively on Windows, so that only a dead owner's can be deleted."""

        def __init__(self, path: Path) -> None:
            self._path = path
            self._file = QLockFile(str(path))
            self._file.setStaleLockTime(0)

        def acquire(self) -> bool:
            """Try to take the lock; return whether we hold it. Raises OSError if the file cannot be made."""
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
        """The kernel's own lock on a file that stays.

        QLockFile deletes its own file and that of a dead owner. If several programs find a dead owner's file at the
        same time, two of them could each delete a file, and both would be first.
        """

        def __init__(self, path: Path) -> None:
            self._path = path
            self._file: int | None = None

        def acquire(self) -> bool:
            """Try to take the lock; return whether we hold it. Raises OSError if the file cannot be made."""
            if self._file is not None:
                return True
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                return False
            except OSError as error:  # a file system without locks: two windows are better than none
                log.warning("%s cannot be locked: %s", self._path, error)
            if not self._is_there(file):  # deleted meanwhile: others lock another file of that name
                os.close(file)
                return False
            self._file = file
            return True

        def release(self) -> None:
            """Release the lock; the file stays, because a deleted file could be locked once more."""
            if self._file is not None:
                os.close(self._file)
                self._file = None

        def _is_there(self, file: int) -> bool:
            try:
                return os.path.samestat(os.fstat(file), self._path.stat())
            except FileNotFoundError:
                return False


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
        self._lock = ProcessLock(folder / "window.lock")
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._accept)

    def claim(self, model: str = "", question: str | None = None) -> bool:
        """Return True if this program is the first, and False if another one is and has accepted the request.

        The request is to load `model`, or to ask `question` in the quick window.
        Raises Failure if the first one does not answer within PATIENCE_SECONDS.
        """
        request = StartRequest(self._name, start_request(model, question))
        until = time.monotonic() + PATIENCE_SECONDS
        while not self._acquire():
            if request.is_accepted():
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

    def _acquire(self) -> bool:
        try:
            return self._lock.acquire()
        except OSError as error:
            raise Failure("data_folder.locked", str(error), folder=self._folder) from error

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


class StartRequest:
    """The request of a second start to the first program, sent once, on one connection.

    The answer may take long, while the first program is busy.
    """

    def __init__(self, name: str, line: bytes) -> None:
        self._name, self._line = name, line
        self._socket = QLocalSocket()

    def is_accepted(self) -> bool:
        """Wait up to WAIT_MS and return whether the first program has accepted the request.

        A program that is only starting does not listen yet, and one that is ending no longer does.
        """
        socket = self._socket
        if socket.state() != QLocalSocket.LocalSocketState.ConnectedState:
            socket.abort()
            socket.connectToServer(self._name)
            if not socket.waitForConnected(WAIT_MS):
                time.sleep(WAIT_MS / 4000)  # a refused connection returns at once
                return False
            socket.write(self._line)
        socket.waitForReadyRead(WAIT_MS)
        return bytes(socket.readAll().data()).startswith(b"ok")
