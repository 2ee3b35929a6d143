"""Cards of the recommended models on the welcome page: what each is like on this computer, and one button."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.look.live import Live
from app.look.sheet import Button, ProgressBar, fill, label
from app.look.theme import SIZES
from app.words import mark, tr


@dataclass(frozen=True, slots=True)
class Offer:
    """Content of one card, in the language of the moment.

    The button with the text `button` does the `action` of the row `key`; without a text there is none. `note` has the
    licence's conditions, `problem` why a download stopped; `fraction` is the progress of a download, None without one.
    """

    heading: str
    title: str
    lines: tuple[str, ...]
    note: str = ""
    problem: str = ""
    fraction: float | None = None
    key: Hashable = ""
    action: str = ""
    button: str = ""


@dataclass(frozen=True, slots=True)
class Offers:
    """Content of the page: up to three cards, and a sentence about them, such as why nothing can be downloaded."""

    cards: tuple[Offer, ...] = ()
    sentence: str = ""


class OfferCard(QFrame):
    """Card of one model; `requested` carries the key of its row in the list of models, and the button's action."""

    requested = Signal(object, str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("offer")
        self._offer: Offer | None = None
        self.heading, self.title, self.lines, self.note, self.problem = (
            label(name, self) for name in ("badge", "offerTitle", "offerLines", "offerNote", "problem")
        )
        self.bar = ProgressBar(self)
        self.button = Button(self, work=self._press)
        name = fill(QVBoxLayout(), self.heading, self.title, gap=SIZES.gap_s)
        top = fill(QHBoxLayout(), (name, 1), (self.button, Qt.AlignmentFlag.AlignTop))  # seen even on a low page
        words = (self.lines, self.note, self.problem)
        margins = (SIZES.gap_l, SIZES.gap_m, SIZES.gap_l, SIZES.gap_m)
        fill(QVBoxLayout(self), top, *words, None, self.bar, gap=SIZES.gap_s, margins=margins)

    def show_offer(self, offer: Offer) -> None:
        if offer == self._offer:
            return
        self._offer = offer
        texts: dict[QLabel | QPushButton, str] = {
            self.heading: offer.heading, self.title: offer.title, self.lines: "\n".join(offer.lines),
            self.note: offer.note, self.problem: offer.problem, self.button: offer.button,
        }  # fmt: skip
        for part, text in texts.items():
            part.setText(text)
            part.setVisible(bool(text))
        self.button.setAccessibleName(tr("{action}: {model}", action=offer.button, model=offer.title))
        self.bar.show_fraction(offer.fraction, tr("Download progress of {model}", model=offer.title))

    def _press(self) -> None:
        if self._offer is not None:
            self.requested.emit(self._offer.key, self._offer.action)


class ModelOffers(Live, QWidget):
    """The cards, side by side where there is room, with a button that hides them for good.

    `requested` carries what a card's button asks for; `dismissed` is emitted by the button below.
    """

    requested = Signal(object, str)
    dismissed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.cards = [OfferCard(self) for _ in range(3)]
        self.title = label("settingTitle", self, lambda: tr("These models answer better on this computer:"))
        self.sentence = label("welcomeHint", self)
        self.sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.dismiss = Button(self, mark("Not now"), self.dismissed.emit, kind="quiet")
        for card in self.cards:
            card.requested.connect(self.requested)
        self._make: Callable[[], Offers] = Offers
        beside = [(card, 1) for card in self.cards[1:]]
        self._row = fill(QBoxLayout(QBoxLayout.Direction.LeftToRight), *beside, gap=SIZES.gap_m)
        parts = (self.title, self.cards[0], self._row, self.sentence, (self.dismiss, Qt.AlignmentFlag.AlignHCenter))
        fill(QVBoxLayout(self), *parts, gap=SIZES.gap_m)
        self.apply_look()

    def show_offers(self, make: Callable[[], Offers]) -> None:
        """Show what `make` returns, also after a change of the language; hide the cards if that is nothing."""
        self._make = make
        self.retranslate()

    def retranslate(self) -> None:
        offers = self._make()
        # A single model gets the whole width; of three, the one that is here already is above the other two.
        places = self.cards if len(offers.cards) != 2 else self.cards[1:]
        shown = dict(zip(places, offers.cards, strict=False))
        for card in self.cards:
            card.setVisible(card in shown)
            if card in shown:
                card.show_offer(shown[card])
        self.title.setVisible(bool(offers.cards))
        self.sentence.say(offers.sentence)
        self.setVisible(bool(offers.cards or offers.sentence))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        beside = self.width() >= SIZES.column * 2 // 3
        direction = QBoxLayout.Direction.LeftToRight if beside else QBoxLayout.Direction.TopToBottom
        if direction != self._row.direction():
            self._row.setDirection(direction)
