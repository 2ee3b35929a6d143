"""The web page at an address that the user gave: which addresses are asked, and what may come back.

The page is hostile, so this process only unpacks its bytes; a reader without a network makes text of them.
"""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Callable, Iterable
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from common.failures import Failure
from common.paths import printable
from engine.protocol.events import PageRead
from engine.protocol.requests import ReadPage
from engine.remote.failures import cut, status_failure
from engine.remote.http import REDIRECTS, Patience, Request, Response
from engine.stop import Stopped
from models.servers import DEFAULT_PORTS, host_of, is_local_network

PATIENCE = Patience(connect=15, first=30, gap=20)
MOST_SECONDS = 60  # for all of it, however steadily a server sends
MOST_BYTES = 10_000_000  # of a page, packed and unpacked; the longest articles have 2 MB
MOST_REDIRECTS = 8
HOST = re.compile(r"[a-z0-9._:%~-]+")
LONGEST_ADDRESS = 2_000  # characters; browsers and servers take no longer ones for granted
SEE_OTHER = 303
ACCEPT = "text/html, application/xhtml+xml, text/plain, application/pdf;q=0.9, */*;q=0.1"
KINDS = ("text/", "application/xhtml+xml", "application/pdf", "application/json", "application/xml")
GZIP_OR_ZLIB = 47  # window bits that have zlib recognise either header
ACCOUNTS = (401, 402, 403, 407, 451)
PATH_SIGNS, QUERY_SIGNS = "/%:@!$&'()*+,;=~-._", "/%:@!$&'()*+,;=~-._?[]{}|"  # left as the user wrote them


def read_page(request: ReadPage, stopped: Callable[[], bool]) -> PageRead:
    """Fetch a page, following redirects. Raises Failure, and Stopped."""
    until = time.monotonic() + MOST_SECONDS
    url = page_address(request.url)
    try:
        return _follow(request.id, url, lambda: stopped() or time.monotonic() > until)
    except Stopped:
        if stopped():
            raise
        raise Failure("no_connection.page_slow", host=host_of(url), seconds=MOST_SECONDS) from None
    except Failure as failure:
        raise _about_page(failure) from failure.__cause__


def _about_page(failure: Failure) -> Failure:
    """Return a failure of the exchange, which may be worded as one of a model server, as that of a page."""
    match failure.sentence.id:
        case "refused.server_nonsense":
            return Failure("refused.page_nonsense", failure.detail, **failure.sentence.values)
        case "refused.server_too_much":
            return Failure("refused.page_large", most=MOST_BYTES, **failure.sentence.values)
    return failure


def page_address(address: str) -> str:
    """Return an address as it is asked for: in ASCII, without fragment, and encrypted unless in a local network.

    Raises Failure for anything that is no address of a web page, and for one that contains a password.
    """
    text = address.strip()
    try:
        parts = urlsplit(text)
        host, port = (parts.hostname or "").rstrip(".").encode("idna").decode(), parts.port
        usable = len(text) <= LONGEST_ADDRESS and text.isprintable() and " " not in text and port != 0
        usable &= parts.scheme in DEFAULT_PORTS and parts.username is None
        usable &= HOST.fullmatch(host) is not None  # “´” becomes a name with a blank in it
    except ValueError:  # UnicodeError is one
        usable = False
    if not usable:
        raise Failure("refused.page_address", address=printable(text[:200]))
    scheme = parts.scheme
    if scheme == "http" and not is_local_network(host):
        if port not in (None, DEFAULT_PORTS["http"]):
            raise Failure("refused.not_https", address=text[:200])
        scheme, port = "https", None
    place = f"[{host}]" if ":" in host else host
    place = place if port in (None, DEFAULT_PORTS[scheme]) else f"{place}:{port}"
    return urlunsplit((scheme, place, quote(parts.path, PATH_SIGNS), quote(parts.query, QUERY_SIGNS), ""))


def _follow(id: int, url: str, is_over: Callable[[], bool]) -> PageRead:
    """Ask for the page, and where it leads. Only the host that the user gave may be in a local network."""
    given = urlsplit(url).hostname
    for _ in range(MOST_REDIRECTS + 1):
        public = urlsplit(url).hostname != given
        request = Request(url, most=MOST_BYTES, patience=PATIENCE, accept=ACCEPT, public=public)
        with Response(request, is_over) as response:
            target = response.headers.get("location", "")
            if response.status not in (*REDIRECTS, SEE_OTHER) or not target:
                return _page(id, url, response)
        url = _redirected(url, target, given)
    raise Failure("refused.redirects", host=host_of(url))


def _redirected(url: str, target: str, given: str | None) -> str:
    """Return the address that a redirect leads to. Raises Failure if it is not followed."""
    try:
        address = page_address(urljoin(url, target))
    except (Failure, ValueError):
        raise Failure("refused.redirect", host=host_of(url), address=printable(target[:200])) from None
    host = urlsplit(address).hostname or ""
    if host != given and is_local_network(host):
        raise Failure("refused.page_private", host=host_of(url), address=host)
    return address


def _page(id: int, url: str, response: Response) -> PageRead:
    """Return what a response carries, if that is a page. Raises Failure."""
    host, headers, status = host_of(url), response.headers, response.status
    if status != 200:
        raise _status_failure(url, status, headers.get("retry-after", ""))
    kind, _, rest = headers.get("content-type", "").partition(";")
    kind = kind.strip().casefold()
    if kind and not kind.startswith(KINDS):
        raise Failure("refused.page_kind", host=host, kind=printable(kind[:60]))
    if headers.get("content-length", "").isdecimal() and int(headers["content-length"][:20]) > MOST_BYTES:
        raise _too_large(url)
    packing = headers.get("content-encoding", "").strip().casefold()
    if packing in ("", "identity"):
        data = response.read()
    elif packing in ("gzip", "x-gzip", "deflate"):
        data = unpacked(response.chunks(), url)
    else:
        raise Failure("refused.page_packed", host=host, kind=printable(packing[:60]))
    return PageRead(id, url, kind, _charset(rest), data)


def unpacked(chunks: Iterable[bytes], url: str) -> bytes:
    """Unpack gzip or zlib while it arrives, so that no more than MOST_BYTES is ever made of it. Raises Failure."""
    unpacker, pieces, size = zlib.decompressobj(GZIP_OR_ZLIB), list[bytes](), 0
    try:
        for chunk in chunks:
            piece = unpacker.decompress(chunk, MOST_BYTES + 1 - size)
            size += len(piece)
            pieces.append(piece)
            if size > MOST_BYTES:
                raise _too_large(url)
            if unpacker.eof:
                return b"".join(pieces)
    except zlib.error as error:
        raise Failure("refused.page_nonsense", str(error), host=host_of(url)) from error
    raise cut(url)


def _charset(parameters: str) -> str:
    """Return the encoding that a Content-Type names."""
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().casefold() == "charset":
            return printable(value.strip().strip("\"'")[:40])
    return ""


def _too_large(url: str) -> Failure:
    return Failure("refused.page_large", host=host_of(url), most=MOST_BYTES)


def _status_failure(url: str, status: int, retry_after: str) -> Failure:
    if status in ACCOUNTS:
        return Failure("refused.page_account", host=host_of(url), status=status)
    if status in (404, 410):
        return Failure("not_found.page", host=host_of(url), status=status)
    return status_failure(url, status, b"", "", retry_after=retry_after)
