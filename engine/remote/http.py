"""One HTTP exchange with a server, which can be stopped at any moment and trusts nothing that the server sends.

httpx does the exchange in an event loop of its own, which runs only while the caller waits. So a stop closes the
connection at once, whatever it waits for, and the server stops computing.
"""

from __future__ import annotations

import asyncio
import math
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from common.failures import Failure
from engine.remote.failures import exchange_failure
from engine.stop import Stopped
from models.servers import host_of, is_public, is_this_computer

if TYPE_CHECKING:  # they take a tenth of a second to import, so the first request does it
    import httpcore
    import httpx

T = TypeVar("T")

AGENT = "chickadee"
CONNECT_SECONDS = 15
FIRST_SECONDS = 900  # until a server begins to answer: one without a graphics card reads a long prompt for minutes
GAP_SECONDS = 120  # without a byte in the middle of an answer
POLL_SECONDS = 0.05
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
    accept: str = "*/*"
    public: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """Headers: no compression, whose size nobody knows beforehand, and one exchange a connection."""
        headers = {
            "User-Agent": AGENT, "Accept": self.accept, "Accept-Encoding": "identity", "Connection": "close",
        }  # fmt: skip
        if self.body:
            headers["Content-Type"] = "application/json"
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        return headers


class Response:
    """A response: `status`, `headers`, and its body as chunks while it arrives. Use it in a `with` block.

    `until`: when nothing more is waited for, in the seconds of `time.monotonic`.
    """

    def __init__(self, request: Request, stopped: Callable[[], bool]) -> None:
        """Send the request and wait for the response's head. Raises Failure, and Stopped."""
        self.until = math.inf
        self._request, self._stopped = request, stopped
        self._deadline = time.monotonic() + request.patience.connect
        self._proxy: str | None = None  # while it has not connected us
        self._connection: httpcore.AsyncNetworkStream | None = None
        self._loop = asyncio.SelectorEventLoop()
        self._loop.set_default_executor(DaemonThreads())
        try:
            response = self._wait_for(self._send())
        except BaseException:
            self.close()
            raise
        self.status, self.headers = response.status_code, response.headers
        self._chunks = response.aiter_raw()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def chunks(self) -> Iterator[bytes]:
        """Yield the body's bytes as they arrive. Raises Failure if the server breaks off, and Stopped."""
        size = 0
        while True:
            self._deadline = time.monotonic() + self._request.patience.gap
            chunk = self._wait_for(_next_chunk(self._chunks))
            if not chunk:
                return
            size += len(chunk)
            if size > self._request.most:
                raise Failure("refused.server_too_much", host=host_of(self._request.url))
            yield chunk

    def read(self) -> bytes:
        """Return the whole body."""
        return b"".join(self.chunks())

    def close(self) -> None:
        """Close the connection: the server notices that nobody listens any more."""
        if self._loop.is_closed():
            return
        if self._connection is not None:
            self._loop.run_until_complete(self._connection.aclose())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def _wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`, which is cancelled by a stop and after the deadline."""
        task = self._loop.create_task(work)
        try:
            while not task.done():
                if self._stopped():
                    raise Stopped
                if time.monotonic() > min(self._deadline, self.until):
                    raise TimeoutError
                self._loop.run_until_complete(asyncio.wait((task,), timeout=POLL_SECONDS))
            return task.result()
        except (Failure, Stopped):
            raise
        except Exception as error:
            proxy = urlsplit(self._proxy).hostname if self._proxy else None
            if failure := exchange_failure(error, self._request.url, proxy):
                raise failure from error
            raise  # a bug
        finally:
            if not task.done():
                task.cancel()
                self._loop.run_until_complete(asyncio.gather(task, return_exceptions=True))

    async def _send(self) -> httpx.Response:
        """Connect, by the proxy if the system names one, send the request, and return the response's head.

        The transport knows neither cookies nor redirects, and reads no password of a `.netrc` file.
        """
        import httpx

        request, parts = self._request, urlsplit(self._request.url)
        self._proxy = proxy_for(parts)
        # An open connection needs no certificates, which take 20 ms to read: this context trusts nobody.
        tls = tls_context() if parts.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        transport = httpx.AsyncHTTPTransport(verify=tls, proxy=self._proxy, trust_env=False)
        method, body = ("POST", request.body) if request.body else ("GET", None)
        extensions = {"trace": self._on_progress}
        sent = httpx.Request(method, request.url, headers=request.headers, content=body, extensions=extensions)
        return await transport.handle_async_request(sent)

    async def _on_progress(self, event: str, details: Mapping[str, Any]) -> None:
        """Keep the connection, check who is connected before anything is asked, and give the server time to answer.

        The address is that of the open connection: a name may lead elsewhere the next time. A proxy looks names up
        itself.
        """
        if event == "connection.connect_tcp.complete":
            self._connection = details["return_value"]
            address = self._connection.get_extra_info("server_addr")[0]
            if self._request.public and not self._proxy and not is_public(address):
                raise Failure("refused.page_private", host=host_of(self._request.url), address=address)
        elif event == "http11.send_request_headers.started" and details["request"].method != b"CONNECT":
            self._proxy = None
            self._deadline = time.monotonic() + self._request.patience.first


async def _next_chunk(chunks: AsyncIterator[bytes]) -> bytes:
    return await anext(chunks, b"")


class DaemonThreads(ThreadPoolExecutor):
    """Threads in which names are looked up: the end of the program does not wait for them, since nothing stops them."""

    def submit(self, work: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future = Future[T]()
        future.set_running_or_notify_cancel()

        def run() -> None:
            try:
                future.set_result(work(*args, **kwargs))
            except Exception as error:  # noqa: BLE001 - it belongs to who waits for the result
                future.set_exception(error)

        threading.Thread(target=run, name="lookup", daemon=True).start()
        return future


def send(request: Request, stopped: Callable[[], bool]) -> Response:
    """Send a request and follow redirects within the same server; a redirect elsewhere is a Failure."""
    for _ in range(MOST_REDIRECTS + 1):
        response = Response(request, stopped)
        target = response.headers.get("location", "")
        if response.status not in REDIRECTS or not target:
            return response
        response.close()
        url = _on_same_server(request.url, target)
        if url is None:
            raise Failure("refused.server_redirect", host=host_of(request.url), address=target[:200])
        request = replace(request, url=url)
    raise Failure("refused.redirects", host=host_of(request.url))


def _on_same_server(url: str, target: str) -> str | None:
    """Return the address that a redirect leads to, if it is on the same server, reached in the same way or by TLS."""
    import httpx

    before = httpx.URL(url)
    try:
        after = before.join(target)
    except (httpx.InvalidURL, ValueError):
        return None
    places = [(place.scheme, place.host, place.port) for place in (before, after)]
    safer = places == [("http", before.host, None), ("https", before.host, None)]
    return str(after) if safer or places[0] == places[1] else None


def proxy_for(parts: SplitResult) -> str | None:
    """Return the address of the proxy that the system names for a server; None for this computer's own servers."""
    host = parts.hostname or ""
    if is_this_computer(host) or proxy_bypass(host):
        return None
    named = getproxies().get(parts.scheme, "")
    proxy = urlsplit(named if "://" in named else f"http://{named}")
    return f"http://{proxy.netloc.rstrip('/')}" if proxy.scheme == "http" and proxy.hostname else None


@cache
def tls_context() -> ssl.SSLContext:
    """Return the rules for safe connections: the system's certificates, which know a company's own, and Mozilla's."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
