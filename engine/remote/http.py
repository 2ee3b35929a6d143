"""One HTTP exchange with a server, which can be stopped at any moment and trusts nothing that the server sends.

The standard library's client and not `requests`: a stop must shut the socket, also while a name is looked up or a
server thinks about the first byte, so that the server stops computing. A thread does the exchange; the caller polls.
"""

from __future__ import annotations

import contextlib
import http.client
import math
import queue
import socket
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import SplitResult, unquote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from common.failures import Failure
from engine.remote.failures import exchange_failure
from engine.stop import Stopped
from models.servers import DEFAULT_PORTS, host_of, is_public, is_this_computer

AGENT = "chickadee"
CONNECT_SECONDS = 15
FIRST_SECONDS = 900  # until a server begins to answer: one without a graphics card reads a long prompt for minutes
GAP_SECONDS = 120  # without a byte in the middle of an answer
POLL_SECONDS = 0.05
CHUNK = 1 << 16  # bytes
MOST_UNREAD = 64  # chunks; then the thread waits, and with it the server
MOST_REDIRECTS = 3
REDIRECTS = (301, 302, 307, 308)


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds that a server may take: for a connection, for the first byte, and between two bytes."""

    connect: float = CONNECT_SECONDS
    first: float = FIRST_SECONDS
    gap: float = GAP_SECONDS


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a server. `body` is JSON; empty for a GET. `most`: bytes of the whole response.

    `accept`: the media types that are wanted. `public`: a server in a local network, or on this computer, is refused.
    """

    url: str
    key: str = field(default="", repr=False)
    body: bytes = b""
    most: int = 4 << 20
    patience: Patience = Patience()
    accept: str = ""
    public: bool = False


@dataclass(frozen=True, slots=True)
class Head:
    """Beginning of a response. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]


class Response:
    """A response: its `head`, and its body as chunks while it arrives. Close it in any case.

    `until`: when nothing more is waited for, in the seconds of `time.monotonic`.
    """

    def __init__(self, request: Request, stopped: Callable[[], bool]) -> None:
        """Send the request and wait for the response's head. Raises Failure, and Stopped."""
        self._request, self._stopped = request, stopped
        self.until = math.inf
        self._exchange = Exchange(request)
        try:
            self.head = self._next_head()
        except BaseException:
            self.close()
            raise

    def chunks(self) -> Iterator[bytes]:
        """Yield the body's bytes as they arrive. Raises Failure if the server breaks off, and Stopped."""
        size = 0
        while chunk := self._next(self._request.patience.gap):
            assert isinstance(chunk, bytes)
            size += len(chunk)
            if size > self._request.most:
                raise Failure("refused.server_too_much", host=host_of(self._request.url))
            yield chunk

    def read(self) -> bytes:
        """Return the whole body."""
        return b"".join(self.chunks())

    def close(self) -> None:
        """End the exchange: the server notices that nobody listens any more."""
        self._exchange.abort()

    def _next_head(self) -> Head:
        head = self._next(self._request.patience.first)
        assert isinstance(head, Head)
        return head

    def _next(self, seconds: float) -> Head | bytes:
        until = min(time.monotonic() + seconds, self.until)
        while True:
            if self._stopped():
                raise Stopped
            with contextlib.suppress(queue.Empty):
                item = self._exchange.items.get(timeout=POLL_SECONDS)
                if isinstance(item, BaseException):
                    raise exchange_failure(item, self._request.url) from item
                return item
            if time.monotonic() > until:
                raise Failure("no_connection.server_silent", host=host_of(self._request.url))


def send(request: Request, stopped: Callable[[], bool]) -> Response:
    """Send a request and follow redirects within the same server; a redirect elsewhere is a Failure."""
    for _ in range(MOST_REDIRECTS + 1):
        response = Response(request, stopped)
        target = response.head.headers.get("location", "")
        if response.head.status not in REDIRECTS or not target:
            return response
        response.close()
        url = _joined(request.url, target)
        if not _is_same_server(request.url, url):
            raise Failure("refused.server_redirect", host=host_of(request.url), address=target[:200])
        request = Request(url, request.key, request.body, request.most, request.patience)
    raise Failure("refused.redirects", host=host_of(request.url))


def _joined(url: str, target: str) -> str:
    """Return the address that a redirect leads to; '' for one that is no address."""
    try:
        return urljoin(url, target)
    except ValueError:
        return ""


def _is_same_server(url: str, target: str) -> bool:
    """Return whether `target` is on the server of `url`, reached in the same way or more safely."""
    try:
        before, after = _place(urlsplit(url)), _place(urlsplit(target))
    except ValueError:
        return False
    safer = before[:2] == ("http", after[1]) and before[2] == 80 and after[0] == "https" and after[2] == 443
    return before == after or safer


def _place(parts: SplitResult) -> tuple[str, str, int]:
    return parts.scheme, parts.hostname or "", parts.port or DEFAULT_PORTS.get(parts.scheme, 0)


class Exchange:
    """A thread that sends a request and puts what comes back into `items`: a Head, chunks, and b"" or an exception."""

    def __init__(self, request: Request) -> None:
        self.items: queue.Queue[Head | bytes | BaseException] = queue.Queue(MOST_UNREAD)
        self._request = request
        self._aborted = threading.Event()
        self._connection: http.client.HTTPConnection | None = None
        threading.Thread(target=self._run, name="exchange", daemon=True).start()

    def abort(self) -> None:
        """Shut the connection down, whatever the thread is waiting for; any thread may call this."""
        self._aborted.set()
        connection = self._connection
        sock = connection.sock if connection else None
        if sock is not None:
            with contextlib.suppress(OSError):  # it is closed already
                sock.shutdown(socket.SHUT_RDWR)

    def _run(self) -> None:
        try:
            self._exchange()
            self._put(b"")
        except Exception as error:  # noqa: BLE001 - the caller words it, or raises it as a bug
            self._put(error)
        finally:
            if self._connection is not None:
                self._connection.close()

    def _exchange(self) -> None:
        request, parts = self._request, urlsplit(self._request.url)
        connection, target = connect(parts, request.patience)
        self._connection = connection
        _open(connection, parts)
        assert connection.sock is not None
        if request.public and connection.host == parts.hostname:  # a proxy looks names up itself
            _check_public(connection.sock.getpeername()[0], request.url)
        connection.sock.settimeout(max(request.patience.first, request.patience.gap))
        if self._aborted.is_set():
            return
        connection.request("POST" if request.body else "GET", target, request.body or None, headers_for(request))
        response = connection.getresponse()
        self._put(Head(response.status, {name.lower(): value for name, value in response.getheaders()}))
        while not self._aborted.is_set() and (chunk := response.read1(CHUNK)):
            self._put(chunk)
        if response.length and not self._aborted.is_set():  # the bytes that were announced and did not come
            raise http.client.IncompleteRead(b"")

    def _put(self, item: Head | bytes | BaseException) -> None:
        while not self._aborted.is_set():
            with contextlib.suppress(queue.Full):
                self.items.put(item, timeout=POLL_SECONDS)
                return


def _open(connection: http.client.HTTPConnection, parts: SplitResult) -> None:
    """Connect. Raises Failure if that fails because of the proxy, and OSError if it is the server's fault."""
    try:
        connection.connect()
    except ssl.SSLError:  # between here and the server
        raise
    except OSError as error:
        if connection.host == parts.hostname:
            raise
        host = host_of(parts.geturl())
        raise Failure("no_connection.proxy", str(error), host=host, proxy=connection.host) from error


def headers_for(request: Request) -> dict[str, str]:
    """Return the headers: no compression, whose size nobody knows beforehand, and one exchange a connection."""
    headers = {"User-Agent": AGENT, "Accept-Encoding": "identity", "Connection": "close"}
    if request.body:
        headers["Content-Type"] = "application/json"
    if request.key:
        headers["Authorization"] = f"Bearer {request.key}"
    if request.accept:
        headers["Accept"] = request.accept
    return headers


def _check_public(address: str, url: str) -> None:
    """Raise Failure unless this is a computer of the public internet.

    The address is that of the open connection, before anything is asked: a name may lead elsewhere the next time.
    """
    if not is_public(address):
        raise Failure("refused.page_private", host=host_of(url), address=address)


def connect(parts: SplitResult, patience: Patience) -> tuple[http.client.HTTPConnection, str]:
    """Return a connection that is not open yet, and the target to name in the request's first line.

    The proxy that the system names is used, except for this computer's own servers.
    """
    host, port = parts.hostname or "", parts.port
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    proxy = _proxy_for(parts.scheme, host)
    if proxy is None:
        if parts.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=patience.connect, context=tls_context()), target
        return http.client.HTTPConnection(host, port, timeout=patience.connect), target
    credentials = _credentials(proxy)
    if parts.scheme == "https":
        tunnel = http.client.HTTPSConnection(
            proxy.hostname or "", proxy.port or 80, timeout=patience.connect, context=tls_context()
        )
        tunnel.set_tunnel(host, port or 443, credentials)
        return tunnel, target
    return http.client.HTTPConnection(proxy.hostname or "", proxy.port or 80, timeout=patience.connect), parts.geturl()


def _proxy_for(scheme: str, host: str) -> SplitResult | None:
    if is_this_computer(host) or proxy_bypass(host):
        return None
    named = getproxies().get(scheme, "")
    proxy = urlsplit(named if "://" in named else f"http://{named}")
    return proxy if proxy.scheme == "http" and proxy.hostname else None


def _credentials(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(pair.encode()).decode()}"}


@cache
def tls_context() -> ssl.SSLContext:
    """Return the rules for safe connections: the system's certificates, which know a company's own, and Mozilla's."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
