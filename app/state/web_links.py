"""Links to web pages in what the user types, and which of them are offered to be read. Knows no Qt."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import urlsplit

from models.servers import DEFAULT_PORTS, is_local_network

MOST_OFFERED = 3
LONGEST = 2_000  # characters, as many as the process that fetches a page takes
# A link ends at a blank, a quotation mark or a Chinese sign; signs that end a sentence are cut off below.
LINK = re.compile(
    r"(?<![A-Za-z0-9_@./-])(?:https?://|www\.)[^\s<>\"“”‘’「」『』（）【】《》，。；：！？、|\\^`{}]{3,}", re.IGNORECASE
)
SENTENCE_SIGNS = ".,;:!?'*_~"
PAIRS = {")": "(", "]": "["}


def links_in(text: str) -> tuple[str, ...]:
    """Return the addresses of web pages in a text, each once, in their order."""
    addresses = (address_of(match[0]) for match in LINK.finditer(text))
    return tuple(dict.fromkeys(address for address in addresses if address))


def address_of(written: str) -> str:
    """Return the address that is written here, without the signs of the sentence around it; "" if it is none."""
    text = written
    while text and (text[-1] in SENTENCE_SIGNS or (text[-1] in PAIRS and _is_unpaired(text))):
        text = text[:-1]
    named = "://" in text
    text = text if named else f"https://{text}"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    if parts.scheme.lower() not in DEFAULT_PORTS or port == 0 or len(text) > LONGEST or parts.username is not None:
        return ""
    # While a name is typed it has no dot yet; without one, it is a local network's if a slash or port follows.
    is_whole = "." in host.strip(".") or ":" in host or (named and is_local_network(host) and bool(parts.path or port))
    return text if is_whole and not host.startswith(".") else ""


def offered_links(text: str, read: Collection[str], declined: Collection[str]) -> tuple[str, ...]:
    """Return the links of a text that are to be offered: neither read nor declined, and not too many."""
    known = {_same(address) for address in (*read, *declined)}
    return tuple(link for link in links_in(text) if _same(link) not in known)[:MOST_OFFERED]


def _same(address: str) -> str:
    """Return what is equal for addresses that lead to the same page, whichever way they are written."""
    return address.partition("#")[0].partition("://")[2].rstrip("/").casefold()


def _is_unpaired(text: str) -> bool:
    """Return whether the bracket at the end was opened before the link, as in (https://example.org)."""
    return text.count(text[-1]) > text.count(PAIRS[text[-1]])
