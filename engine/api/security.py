"""Who may use the API: the Host header, the origin of web pages, the key; and how much one request may send."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import re
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import h11
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from common.failures import Failure
from engine.api.errors import ApiError
from engine.api.respond import error_response

MOST_BODY = 32 << 20  # bytes: a context of a million tokens is 4 MB of text
MOST_HEADERS = 32 << 10  # bytes of a request's line and headers together
SMALL_BODY = 64 << 10  # bytes: a body up to this is read whatever others hold
MOST_HELD = 4 * MOST_BODY  # bytes of all bodies together
HEADER_SECONDS = 20.0  # from the connection, or a later request's first byte, to the end of the request's headers
BODY_SECONDS = 60.0  # from the headers to the end of the body
MOST_CONNECTIONS = 256
PUBLIC = ("/health",)  # needs no key
SENDABLE = re.compile(r"[!-~]*")  # a key: ASCII without blanks
NAMES = re.compile(r"localhost|[a-z0-9-]+(\.[a-z0-9-]+)*\.localhost")


def check_key(key: str) -> None:
    """Raise Failure for a key that no client could send in a header, such as one with a line break at its end."""
    if not SENDABLE.fullmatch(key):
        raise Failure("api.bad_key")


def is_loopback(host: str) -> bool:
    """Return whether this name or address, without a port, is this computer's own and no other can reach it."""
    host = host.rstrip(".").lower().strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return NAMES.fullmatch(host) is not None


@dataclass(frozen=True, slots=True)
class Access:
    """Rules of access. `key`: empty if none is needed; `any_host`: whether other computers may call (needs a key)."""

    key: str = ""
    any_host: bool = False


class Guard:
    """ASGI middleware that refuses requests against the rules of `access` before anything reads them.

    `held`: bytes that the bodies of all requests under way hold together.
    """

    def __init__(self, app: ASGIApp, access: Callable[[], Access]) -> None:
        self.app, self.access, self.held = app, access, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        origin = headers.get("origin")
        allowed = cors(origin, headers) if origin and is_local_origin(origin) else {}
        body, begun = Body(receive, headers, self), False

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                # What is left of the body would be read as the next request, for as long as the client likes.
                more = allowed if body.complete else allowed | {"connection": "close"}
                added = ((name.encode(), value.encode()) for name, value in more.items())
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        try:
            self._check(scope, headers)
            app = Response(status_code=204) if scope["method"] == "OPTIONS" else self.app
        except ApiError as error:
            app = error_response(error, scope["path"])
        try:
            await app(scope, body, send_with_headers)
        except asyncio.CancelledError:  # the server ends
            if not begun:
                ended = ApiError(503, "This API was turned off before the answer began.", "turned_off")
                await error_response(ended, scope["path"])(scope, body, send_with_headers)
            raise
        finally:
            body.release()

    def _check(self, scope: Scope, headers: MutableMapping[str, str]) -> None:
        """Raise ApiError unless host, origin and key are right."""
        if sum(len(name) + len(value) for name, value in scope["headers"]) + len(scope["raw_path"]) > MOST_HEADERS:
            raise ApiError(431, f"A request's headers may have up to {MOST_HEADERS >> 10} kB.", "headers_too_large")
        if "transfer-encoding" in headers and "content-length" in headers:  # may hide a second request (RFC 9112, 6.3)
            raise ApiError(400, "A request must not have both Content-Length and Transfer-Encoding.", "bad_headers")
        access = self.access()
        over_tcp = scope["server"] is not None and scope["server"][1] is not None
        if over_tcp and not access.any_host and not is_loopback(without_port(headers.get("host", ""))):
            raise ApiError(403, "The Host header must name this computer: localhost or 127.0.0.1.", "bad_host")
        origin = headers.get("origin")
        foreign = headers.get("sec-fetch-site") == "cross-site" if origin is None else not is_local_origin(origin)
        if foreign:
            raise ApiError(403, "Only web pages of this computer (http://localhost) may use this API.", "bad_origin")
        if access.key and scope["method"] != "OPTIONS" and scope["path"] not in PUBLIC:
            given = given_key(headers)
            if not given:
                raise ApiError(401, "This API needs a key: send “Authorization: Bearer KEY”.", "invalid_api_key")
            if not hmac.compare_digest(given.encode(), access.key.encode()):
                raise ApiError(401, "The key is not the one that this API expects.", "invalid_api_key")
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > MOST_BODY:
            raise too_large()


class Body:
    """`receive` of a request whose body must not be too long, nor take too long, nor too much beside all others."""

    def __init__(self, receive: Receive, headers: MutableMapping[str, str], guard: Guard) -> None:
        self._receive, self._received, self._guard = receive, 0, guard
        self._until = asyncio.get_running_loop().time() + BODY_SECONDS
        self.complete = "transfer-encoding" not in headers and headers.get("content-length", "0") == "0"

    async def __call__(self) -> Message:
        """Return the next message. Raises ApiError for a body that is too long or too slow."""
        if self.complete:  # what follows is that the client hangs up, which may take as long as an answer
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            raise ApiError(408, f"The request's body took longer than {BODY_SECONDS:.0f} s.", "timeout") from None
        size = len(message.get("body", b""))
        self._received += size
        self._guard.held += size
        if self._received > MOST_BODY:
            raise too_large()
        if self._received > SMALL_BODY and self._guard.held > MOST_HELD:
            raise ApiError(503, "Too many large requests are under way. Try again later.", "busy")
        self.complete = not message.get("more_body", False)
        return message

    def release(self) -> None:
        """Count the body no longer, because its request has ended."""
        self._guard.held -= self._received


class ImpatientH11(H11Protocol):
    """Connection that is closed unless the headers of a request arrive soon: of the first one, or of one that began."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._timer: asyncio.TimerHandle | None = None
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._start_timer()
        else:
            self._stop_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._start_timer()

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(HEADER_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None


def too_large() -> ApiError:
    return ApiError(413, f"A request may have up to {MOST_BODY >> 20} MB.", "request_too_large")


def given_key(headers: MutableMapping[str, str]) -> str:
    """Return the key that a client sent, in OpenAI's or Anthropic's header; "" if there is none."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token else headers.get("x-api-key", "")


def without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


def is_local_origin(origin: str) -> bool:
    """Return whether a web page of this origin was loaded from this computer."""
    try:
        return is_loopback(urlsplit(origin).hostname or "")
    except ValueError:
        return False


def cors(origin: str | None, headers: MutableMapping[str, str]) -> dict[str, str]:
    """Return the headers that let a web page of this origin read the response."""
    allowed = {"access-control-allow-origin": origin or "", "vary": "Origin"}
    if "access-control-request-method" in headers:  # the browser asks before it sends
        allowed |= {
            "access-control-allow-methods": "GET, POST, OPTIONS",
            "access-control-allow-headers": headers.get("access-control-request-headers", "*"),
            "access-control-allow-private-network": "true",
            "access-control-max-age": "600",
        }
    return allowed
