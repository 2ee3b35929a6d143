"""Removes from a model's text what could deceive the user or load something, before the text is shown.

A link opens only after the user has seen its whole address, and only if it leads to a web page.
"""

from __future__ import annotations

import ipaddress
import logging
import re

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from app.notice import NoticeArea
from app.words import mark, tr

log = logging.getLogger(__name__)
LINK = "link"  # topic of the question whether a link is opened
MAX_SHOWN = 300  # characters of an address that are shown
REFUSED = {
    "file": mark("This link was not opened because it leads to a file on a computer, not a web page: {address}"),
    "javascript": mark("This link was not opened because it is a program, not a web page: {address}"),
    "data": mark("This link was not opened because it is a disguised file, not a web page: {address}"),
}
REFUSED_OTHER = mark("This link was not opened because it does not lead to a web page: {address}")
# Embeddings, overrides and isolates can make a text read differently from its stored order; the marks U+200E and
# U+200F cannot.
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")


def name_direction_marks(text: str) -> str:
    """Replace each character that changes the text direction by its name, so that the text reads as it is stored."""
    return _DIRECTION.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def ask_about_link(notice: NoticeArea, address: str) -> None:
    """Post a notice that shows where `address` leads; its button, only offered for web pages, opens the page."""
    url = QUrl(address)
    if not url.isValid() or url.scheme() not in ("http", "https") or not url.host():
        notice.post(lambda: tr(REFUSED.get(url.scheme(), REFUSED_OTHER), address=_shortened(address)))
        return
    host = ascii_host(url)
    notice.post(
        lambda: _link_question(url, host),
        lambda: tr("Open in browser"),
        lambda: _open(url),
        strong=host,
        topic=LINK,
        chat=notice.chat,
    )


def _link_question(url: QUrl, host: str) -> str:
    sentence = tr(
        "This link opens {host} in your browser: {address}", host=host, address=_shortened(ascii_address(url))
    )
    return (
        f"{sentence} {tr('This address is on your computer or your local network.')}" if _is_local(host) else sentence
    )


def ascii_address(url: QUrl) -> str:
    """Return the address in ASCII, so that no letter can be mistaken: xn-- in the host, %xx behind the host."""
    return url.toString(QUrl.ComponentFormattingOption.FullyEncoded)


def ascii_host(url: QUrl) -> str:
    """Return the host alone: the part before an @ can look like a host too."""
    return url.host(QUrl.ComponentFormattingOption.FullyEncoded)


def displayable_address(address: str) -> str:
    """Return an address in the form that is safe to show in a tool tip."""
    url = QUrl(address)
    return _shortened(ascii_address(url) if url.isValid() and url.host() else address)


def _shortened(address: str) -> str:
    text = "".join(character if character.isprintable() else "�" for character in name_direction_marks(address))
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 60] + " … " + text[-60:]


def _is_local(host: str) -> bool:
    """Return whether the host is on this computer or in the user's network, which outsiders cannot reach themselves."""
    try:
        number = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".lan", ".home.arpa"))
    return number.is_private or number.is_loopback or number.is_link_local


def _open(url: QUrl) -> None:
    if not QDesktopServices.openUrl(url):
        log.warning("no program opened a link")
