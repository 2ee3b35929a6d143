"""Takes from a model's text what could deceive or load something, before anything shows it.

An answer's link opens only after its whole address was shown; anything but a web page never.
"""

from __future__ import annotations

import ipaddress
import logging
import re

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from app.notice import Notice
from app.words import mark, tr

log = logging.getLogger(__name__)
SHOWN = 300  # characters of an address
CLOSED = {
    "file": mark("This link was not opened because it leads to a file on a computer, not a web page: {address}"),
    "javascript": mark("This link was not opened because it is a program, not a web page: {address}"),
    "data": mark("This link was not opened because it is a disguised file, not a web page: {address}"),
}
OTHER = mark("This link was not opened because it does not lead to a web page: {address}")
IMAGE = "\uf8f0"  # stands for the ! of an image
_IMAGE_SIGN = re.compile(r"(?<!\\)((?:\\\\)*)!\[")
_NAMELESS = re.compile(rf"{IMAGE}\[\s*\]")
# Embeddings, overrides and isolates: they make a text read otherwise than it is stored. Marks (U+200E, U+200F) cannot.
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")


def plain_direction(text: str) -> str:
    """Characters that turn the direction of what follows are named instead of obeyed."""
    return _DIRECTION.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def without_images(markdown: str) -> str:
    """Images become links behind IMAGE. Qt would open the file that an image names as soon as it lays out the text."""
    if "![" not in markdown and IMAGE not in markdown:
        return markdown
    text = _IMAGE_SIGN.sub(rf"\1{IMAGE}[", markdown.replace(IMAGE, "\ufffd"))
    return _NAMELESS.sub(f"{IMAGE}[{tr('image')}]", text)


def ask_about_link(notice: Notice, address: str) -> None:
    """Say where `address` leads; opening it takes another click, and only a web page can be opened."""
    url = QUrl(address)
    if not url.isValid() or url.scheme() not in ("http", "https") or not url.host():
        notice.tell(lambda: tr(CLOSED.get(url.scheme(), OTHER), address=_printable(address)))
        return
    host = host_of(url)
    notice.tell(lambda: _leaves(url, host), lambda: tr("Open in browser"), lambda: _open(url), strong=host)


def _leaves(url: QUrl, host: str) -> str:
    sentence = tr("This link opens {host} in your browser: {address}", host=host, address=_printable(full(url)))
    return f"{sentence} {tr('This address is on your computer or your local network.')}" if _is_near(host) else sentence


def full(url: QUrl) -> str:
    """The address in letters that cannot be mistaken: other alphabets' as xn-- in the host and as %xx behind it."""
    return url.toString(QUrl.ComponentFormattingOption.FullyEncoded)


def host_of(url: QUrl) -> str:
    """The host alone: what stands before an @ can look like one."""
    return url.host(QUrl.ComponentFormattingOption.FullyEncoded)


def shown(address: str) -> str:
    """An address as it may be shown before anybody has asked where it leads."""
    url = QUrl(address)
    return _printable(full(url) if url.isValid() and url.host() else address)


def _printable(address: str) -> str:
    text = "".join(character if character.isprintable() else "�" for character in plain_direction(address))
    return text if len(text) <= SHOWN else text[: SHOWN - 60] + " … " + text[-60:]


def _is_near(host: str) -> bool:
    """A server on this computer or in the user's network, which an outsider could not reach himself."""
    try:
        number = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".lan", ".home.arpa"))
    return number.is_private or number.is_loopback or number.is_link_local


def _open(url: QUrl) -> None:
    if not QDesktopServices.openUrl(url):
        log.warning("no program opened a link")
