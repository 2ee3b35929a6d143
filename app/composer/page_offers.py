"""Chips above the message that offer to read the web pages whose links stand in it. Nothing connects before a press."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QWidget

from app.commands.commands import keys_of, with_keys
from app.composer.chips import ChipFrame
from app.look.flow import Flow
from app.look.speech import announce
from app.look.theme import SIZES, icon, theme
from app.markdown.guard import displayable_address
from app.words import escaped_html, tr

COMMAND = "read_page"


class PageOffer(ChipFrame):
    """Chip that offers to read one page: a click or Enter asks for it; Delete or Backspace declines it."""

    def __init__(self, address: str, parent: QWidget) -> None:
        super().__init__(True, parent)
        self.address = address
        self.apply_look()

    def retranslate(self) -> None:
        shown = displayable_address(self.address).partition("://")[2].rstrip("/")
        short = self.fontMetrics().elidedText(shown, Qt.TextElideMode.ElideMiddle, SIZES.chip)
        self.face.setText(f"{tr('Read this page')} · {short}".replace("&", "&&"))
        self.face.setAccessibleName(tr("Read this page: {address}", address=shown))
        self.face.setAccessibleDescription(tr("Connects to the page. Press Delete to decline."))
        tip = tr("Connects to {address} and attaches the text of the page", address=displayable_address(self.address))
        self.face.setToolTip(escaped_html(with_keys(tip, COMMAND)))
        self.close_button.setAccessibleName(tr("Do not read {address}", address=shown))

    def restyle(self) -> None:
        self.face.setIcon(icon("globe", theme().soft))
        self.face.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self.retranslate()  # the address is elided to the new width


class PageOffers(Flow):
    """Offers to read pages; hidden while there are none. Signals: `wanted` and `declined` carry an address."""

    wanted = Signal(str)
    declined = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.hide()

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses that are offered, in their order."""
        return tuple(offer.address for offer in self.widgets if isinstance(offer, PageOffer))

    def offer(self, addresses: Sequence[str]) -> None:
        """Offer these pages; chips that are there already stay, so that one with the focus keeps it."""
        if tuple(addresses) == self.addresses:
            return
        old = {offer.address: offer for offer in self.widgets if isinstance(offer, PageOffer)}
        self.set_widgets([old.get(address) or self._chip(address) for address in addresses])
        self.setVisible(bool(addresses))
        new = [address for address in addresses if address not in old]
        if new:
            name, key = displayable_address(new[0]), keys_of(COMMAND)[0]
            announce(self, tr("The message has a link. {key} reads the page: {address}", key=key, address=name))

    def _chip(self, address: str) -> PageOffer:
        chip = PageOffer(address, self)
        chip.face.clicked.connect(partial(self.wanted.emit, address))
        chip.remove.triggered.connect(partial(self.declined.emit, address))
        return chip
