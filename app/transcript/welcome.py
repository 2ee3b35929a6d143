"""The page of a chat without messages: the bird, one line, three example questions, and below them better models.

At the first start an introduction takes the place of the questions. The page is laid out from its top, so that cards
of better models, which come seconds later, move nothing.
"""

from __future__ import annotations

import re
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.look.live import Live
from app.look.sheet import Button, fill, label
from app.look.theme import SIZES, bird
from app.transcript.model_offers import ModelOffers
from app.words import mark, tr

SLOGAN = mark("Private. Offline. On this laptop.")
FIRST = (
    mark("Chat with language models that run on this computer. No account needed."),
    mark(
        "What you write stays on this computer, in files that only you can read, unless you connect a server yourself."
    ),
)
READY = mark("{model} is included and ready. Press {keys} to open another GGUF model.")
MISSING = mark("No models yet. Press {keys} to open a GGUF model file.")
# Questions that small models answer well: short, general, without facts to get wrong.
SMALL = (
    mark("Write a friendly note to thank a neighbour"),
    mark("Explain in simple words why the sky is blue"),
    mark("Give me five ideas for a rainy Sunday"),
)
LARGE = (
    mark("Help me plan a week of simple dinners for two"),
    mark("Explain how a heat pump works, then quiz me on it"),
    mark("Turn my notes into a polite e-mail; ask me for the notes"),
)
CODE = (
    mark("Write a Python function that finds duplicate lines in a file"),
    mark("Explain what a race condition is, with a short example"),
    mark("Write a SQL query for the three latest orders of each customer"),
)
CODER = re.compile(r"code|coder|starcoder|devstral|codestral", re.IGNORECASE)
ABOVE = 16  # the space above the bird is this part of the page's height
LOW = 640  # pixels of the page's height; below it there is no room for a large bird
LARGE_FROM = 2e9  # parameters; smaller models fail at plans and quizzes


def examples_for(name: str, parameters: float) -> tuple[str, str, str]:
    """Return example questions in English, to be shown by `tr`, for the model with this file name and size."""
    if CODER.search(name):
        return CODE
    return LARGE if parameters >= LARGE_FROM else SMALL


class Welcome(Live, QScrollArea):
    """The welcome page. `example_chosen` carries the question; the button `begin` ends the introduction."""

    example_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("welcomeArea")
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)  # so that cards move nothing sideways
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._texts = SMALL
        self._first: tuple[str, str] | None = None
        self._host = ""
        self._bird = QLabel()
        self._bird.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.title, *self.sentences = (label(name, None) for name in ("welcomeTitle", *["welcomeSentence"] * 3))
        for each in (self.title, *self.sentences):
            each.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.offers = ModelOffers()
        self.begin = Button(self, mark("Start chatting"), kind="begin")
        self.examples = [
            Button(self, work=partial(self._choose, number), kind="example") for number in range(len(SMALL))
        ]
        self._layout()
        self.apply_look()

    def set_examples(self, texts: tuple[str, str, str]) -> None:
        """Set the example questions; they are English and are shown in the user's language."""
        if texts != self._texts:
            self._texts = texts
            self.retranslate()

    def set_host(self, host: str) -> None:
        """Say that answers come from the server `host`; "": from this computer."""
        if host != self._host:
            self._host = host
            self.retranslate()

    def introduce(self, model: str, keys: str) -> None:
        """Show the introduction; `model` is the name of the built-in model, "" if there is none."""
        self._first = (model, keys)
        self.retranslate()

    def finish_introduction(self) -> None:
        self._first = None
        self.retranslate()

    def retranslate(self) -> None:
        first = self._first is not None
        self.title.setText(tr("Welcome to Chickadee") if first else self._slogan())
        self._bird.setAccessibleName(tr("A chickadee"))
        for button, text in zip(self.examples, self._texts, strict=True):
            button.setText(tr(text).replace("&", "&&"))
        if self._first is not None:
            model, keys = self._first
            last = tr(READY, model=model, keys=keys) if model else tr(MISSING, keys=keys)
            private = self._slogan() if self._host else tr(FIRST[1])
            for label, sentence in zip(self.sentences, (tr(FIRST[0]), private, last), strict=True):
                label.setText(sentence)
        for part in (*self.sentences, self.begin):
            part.setVisible(first)
        for part in self.examples:
            part.setVisible(not first)
        self._limit_width()

    def _slogan(self) -> str:
        return tr("Answers come from {host}.", host=self._host) if self._host else tr(SLOGAN)

    def restyle(self) -> None:
        self._place_bird()
        self._limit_width()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        left = SIZES.gap_xl + SIZES.scroll_bar  # so that the column stands above the composer's
        self._column.setContentsMargins(left, self.height() // ABOVE, SIZES.gap_xl, SIZES.gap_xl)
        self._place_bird()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.verticalScrollBar().setValue(0)

    def _place_bird(self) -> None:
        """Show the bird, a small one on a low page, so that the cards fit below, and none where a title hardly fits."""
        self._bird.setVisible(self.height() >= LOW // 4)
        self._bird.setPixmap(bird(SIZES.bird // 2 if self.height() < LOW else SIZES.bird))

    def _limit_width(self) -> None:
        """Limit the width: sentences may be wider than questions, and no question may be cut off."""
        widest = max(button.sizeHint().width() for button in self.examples)
        wide = self._first is not None
        self._holder.setMaximumWidth(SIZES.column if wide else max(SIZES.column * 3 // 5, widest))
        self.offers.setMaximumWidth(SIZES.column)

    def _choose(self, number: int) -> None:
        self.example_chosen.emit(tr(self._texts[number]))

    def _layout(self) -> None:
        self._holder = QWidget()
        begin = (self.begin, Qt.AlignmentFlag.AlignHCenter)
        fill(QVBoxLayout(self._holder), *self.sentences, *self.examples, begin, gap=SIZES.gap_m)
        page = QWidget()
        page.setObjectName("welcome")
        # An alignment would ignore the height that a widget needs for its width.
        centred = [fill(QHBoxLayout(), (None, 0), (part, 1), (None, 0)) for part in (self._holder, self.offers)]
        self._column = fill(QVBoxLayout(page), self._bird, self.title, *centred, None, gap=SIZES.gap_l)
        self.setWidget(page)
