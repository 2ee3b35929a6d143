"""The page of a chat without messages: the bird, one line, better models and three example questions.

At the first start an introduction takes the place of the questions.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.look.live import Live
from app.look.theme import SIZES, bird
from app.transcript.model_offers import ModelOffers, Offers
from app.words import mark, tr

SLOGAN = mark("Private. Offline. On this laptop.")
FIRST = (
    mark("Chat with language models that run on this computer. No account needed."),
    mark(
        "Nothing you write leaves this computer: there is no server, and your chats are files that only you can read."
    ),
)
READY = mark("{model} is included and ready. Press {keys} to open another GGUF model.")
SMALL_ONE = mark("{model} is included, for a first try. These models answer better on this computer:")
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
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._texts = SMALL
        self._first: tuple[str, str] | None = None
        self._host = ""
        self._bird = QLabel()
        self._bird.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.title = self._sentence_label("welcomeTitle")
        self.sentences = [self._sentence_label("welcomeSentence") for _ in range(3)]
        self.offers = ModelOffers()
        self.begin = QPushButton()
        self.begin.setAutoDefault(True)  # Return presses it like Space
        self.begin.setProperty("kind", "begin")
        self.examples = [self._example(number) for number in range(len(SMALL))]
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

    def show_offers(self, make: Callable[[], Offers]) -> None:
        """Show cards of better models, as `make` words them; hide them if there are none."""
        before = self._offering
        self.offers.show_offers(make)
        if self._offering != before:
            self.retranslate()
            self.restyle()

    @property
    def _offering(self) -> bool:
        return self.offers.isVisibleTo(self._holder)

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
        self.begin.setText(tr("Start chatting"))
        for button, text in zip(self.examples, self._texts, strict=True):
            button.setText(tr(text).replace("&", "&&"))
        if self._first is not None:
            model, keys = self._first
            ready = SMALL_ONE if self._offering else READY
            last = tr(ready, model=model, keys=keys) if model else tr(MISSING, keys=keys)
            private = self._slogan() if self._host else tr(FIRST[1])
            for label, sentence in zip(self.sentences, (tr(FIRST[0]), private, last), strict=True):
                label.setText(sentence)
        for part in (*self.sentences, self.begin):
            part.setVisible(first)
        for part in self.examples:
            part.setVisible(not first)
        self.offers.set_dismissible(not first)
        self._limit_width()

    def _slogan(self) -> str:
        return tr("Answers come from {host}.", host=self._host) if self._host else tr(SLOGAN)

    def restyle(self) -> None:
        self._bird.setPixmap(bird(SIZES.bird // 2 if self._offering else SIZES.bird))
        self._limit_width()

    def _limit_width(self) -> None:
        """Limit the width: sentences may be wider than questions, and no question may be cut off."""
        widest = max(button.sizeHint().width() for button in self.examples)
        wide = self._first is not None or self._offering
        self._holder.setMaximumWidth(SIZES.column if wide else max(SIZES.column * 3 // 5, widest))

    def _sentence_label(self, name: str) -> QLabel:
        label = QLabel()
        label.setObjectName(name)
        label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        return label

    def _example(self, number: int) -> QPushButton:
        button = QPushButton()
        button.setAutoDefault(True)  # Return presses it like Space
        button.setProperty("kind", "example")
        button.clicked.connect(lambda: self.example_chosen.emit(tr(self._texts[number])))
        return button

    def _layout(self) -> None:
        self._holder = QWidget()
        box = QVBoxLayout(self._holder)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(SIZES.gap_m)
        for part in (*self.sentences, self.offers, *self.examples):
            box.addWidget(part)
        box.addSpacing(SIZES.gap)
        box.addWidget(self.begin, 0, Qt.AlignmentFlag.AlignHCenter)
        page = QWidget()
        page.setObjectName("welcome")
        layout = QVBoxLayout(page)
        layout.setContentsMargins(SIZES.gap_xl, SIZES.gap_xl, SIZES.gap_xl, SIZES.gap_xl)
        layout.addStretch(2)
        layout.addWidget(self._bird)
        layout.addSpacing(SIZES.gap_m)
        layout.addWidget(self.title)
        layout.addSpacing(SIZES.gap_xl)
        row = QHBoxLayout()  # an alignment would ignore the height that the holder needs for its width
        row.addStretch(0)
        row.addWidget(self._holder, 1)
        row.addStretch(0)
        layout.addLayout(row)
        layout.addStretch(3)
        self.setWidget(page)
