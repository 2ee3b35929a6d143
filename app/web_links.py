"""An answer's link opens only after its whole address was shown; anything but a web page never."""

from __future__ import annotations

import logging

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from app.notice import Notice

log = logging.getLogger(__name__)


def ask_about_link(notice: Notice, address: str) -> None:
    url = QUrl(address)
    if not url.isValid() or url.scheme() not in ("http", "https") or not url.host():
        notice.tell(f"This link does not lead to a web page, so it stays closed: {address[:300]}")
        return
    shown = url.toString(QUrl.ComponentFormattingOption.FullyEncoded)
    host = url.host(QUrl.ComponentFormattingOption.FullyEncoded)  # what stands before an @ can look like a host
    notice.tell(f"This link leads out of Chickadee, to {host}: {shown}", "Open in browser", lambda: _open(url))


def _open(url: QUrl) -> None:
    if not QDesktopServices.openUrl(url):
        log.warning("no program opened a link")
