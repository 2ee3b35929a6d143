"""The API's server: the sockets it listens on, and its life until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import ipaddress
import os
import signal
import socket
import stat
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import HANDLED_SIGNALS

from common.failures import Failure
from engine.api.jobs import Jobs
from engine.api.respond import end
from engine.api.security import MOST_CONNECTIONS, MOST_HEADERS, ImpatientH11, is_loopback
from models.network import offline_reason

KEEP_ALIVE_SECONDS = 75
SHUTDOWN_SECONDS = 3
ENDING = (*HANDLED_SIGNALS, *(() if sys.platform == "win32" else (signal.SIGHUP,)))
LOOK_SECONDS = 0.1  # between two looks whether the server is asked to end while the engine starts
WINSOCK = 10_000  # Windows numbers the errors of its sockets from here


def listen(host: str, port: int, key: str) -> socket.socket:
    """Return a socket that listens at the address. Raises Failure if it is taken, or open to others without a key."""
    if not 0 <= port < 1 << 16:
        raise Failure("api.bad_port", port=port)
    if not key and not is_loopback(host):
        raise Failure("api.needs_key", host=host)
    if not is_loopback(host) and (reason := offline_reason()):
        raise Failure(reason)
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        if not 0 <= port < 1 << 16:
            raise OverflowError("a port must lie between 0 and 65535")
        socket.getaddrinfo(host or None, port, family)  # create_server hides that a name was not found
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise Failure("api.no_address", address=address_of(host, port), reason=reason_of(error)) from error


def listen_unix(path: Path) -> socket.socket:
    """Return a socket file that this user alone may use. Raises Failure if the file is another program's."""
    try:
        if not hasattr(socket, "AF_UNIX"):  # Python has none on Windows
            raise OSError(errno.EAFNOSUPPORT, "no socket files on this system", str(path))
        _remove_stale(path)
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)  # so that the file is private from its beginning
        try:
            made.bind(str(path))
        finally:
            os.umask(mask)
        made.listen(128)
    except OSError as error:
        raise Failure("api.no_address", address=path, reason=reason_of(error)) from error
    return made


class ApiServer(uvicorn.Server):
    """Uvicorn's server together with the queue of requests; it calls `ready` once it answers."""

    def __init__(self, app: ASGIApp, jobs: Jobs, ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=ImpatientH11,
                ws="none",
                loop="asyncio",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                limit_concurrency=MOST_CONNECTIONS,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
                h11_max_incomplete_event_size=MOST_HEADERS,
            )
        )
        self._jobs, self._ready = jobs, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Make the engine ready, then begin to answer, unless asked to end meanwhile. Raises Failure."""
        starting = asyncio.ensure_future(self._jobs.start())
        while not starting.done() and not self.should_exit:
            await asyncio.wait((starting,), timeout=LOOK_SECONDS)
        if self.should_exit:
            await end(starting)
            return
        starting.result()
        await super().startup(sockets)
        self._ready()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().serve(sockets)
        finally:
            await self._jobs.close()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave the signals to `run_until_asked`: uvicorn would raise them again before `serve` has cleaned up."""
        yield

    def run_until_asked(self, listening: socket.socket) -> None:
        """Answer requests until the process is asked to end. Raises Failure if the engine cannot be made ready."""
        wanted = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self.handle_exit) for number in wanted}
        try:
            self.run(sockets=[listening])
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def ask_to_end(self) -> None:
        """Have the server end at once; answers under way are cut off, and requests that wait are refused."""
        self.config.timeout_graceful_shutdown = 0
        self.should_exit = True


def address_of(host: str, port: int) -> str:
    """Return the base address that clients are given; for all addresses, that in the local network."""
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host)
        if address.is_unspecified:
            host = address_in_network()
        elif address.version == 6:
            host = f"[{host}]"
    return f"http://{host}:{port}"


def address_in_network() -> str:
    """Return this computer's address in the local network; its name if there is no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: the system only chooses the way there
        except OSError:
            return socket.gethostname()
        return str(probe.getsockname()[0])


def reason_of(error: OSError) -> str:
    """Return the system's words for an error of a socket, without the address that Python adds to them."""
    number = error.errno
    if sys.platform == "win32" and number and number > WINSOCK:
        return ctypes.FormatError(number).strip(" .\r\n")
    return os.strerror(number) if number else str(error)


def _remove_stale(path: Path) -> None:
    """Remove a socket file that a server has left, to which nobody listens any more. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return  # bind says that the file exists
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
