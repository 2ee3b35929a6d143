"""What lies above the composer's text: the attached files, and the question what to do with those that do not fit."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from app.composer.chips import Chip, Flow
from app.look.theme import SIZES
from app.state.draft import DraftFile, MessageDraft
from app.words import Saying, mark, said, tr

CHOICES = {
    "best": mark("Send the best-matching parts"),
    "beginning": mark("Send the beginning, as much as fits"),
    "remove": mark("Remove"),
}
REMOVE_OF_MANY = mark("Remove largest file")
ONLY_REMOVE = {"remove": CHOICES["remove"]}
AGAIN = {"ask": mark("Change")}


class Tray(QWidget):
    """`removed` carries the DraftFile that is to go, `chosen` a key of CHOICES, or `ask`. Hidden while empty."""

    removed = Signal(object)
    chosen = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.chips = Flow(self)
        self.question = QLabel(self)
        self.question.setObjectName("trayQuestion")
        self.question.setWordWrap(True)
        self.choices = Flow(self)
        self._draft = MessageDraft()
        self._question: Saying = ""
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SIZES.gap_s)
        for widget in (self.chips, self.question, self.choices):
            layout.addWidget(widget)
        self.hide()

    @property
    def empty(self) -> bool:
        return not self._draft.items

    def show_draft(self, draft: MessageDraft, question: Saying) -> None:
        """The files and, where it is not empty, the sentence about them with what can be chosen."""
        self._draft, self._question = draft, question
        self._show_chips()
        self._ask()
        self.setVisible(bool(draft.items))

    def ask_now(self) -> None:
        """The user wants to send: the choice comes first."""
        if self.choices.widgets:
            self.choices.widgets[0].setFocus()

    def restyle(self) -> None:
        for chip in self.chips.widgets:
            if isinstance(chip, Chip):
                chip.restyle()

    def retranslate(self) -> None:
        for chip in self.chips.widgets:
            if isinstance(chip, Chip):
                chip.retranslate()
        self.chips.arrange()
        self._ask()

    def _ask(self) -> None:
        draft, question = self._draft, said(self._question)
        self.question.setText(question)
        self.question.setVisible(bool(question))
        offered = ONLY_REMOVE if draft.no_room else CHOICES if draft.fit == "too_much" else AGAIN
        if len(draft.items) > 1 and "remove" in offered:
            offered = offered | {"remove": REMOVE_OF_MANY}
        self.choices.put([self._button(key, words) for key, words in offered.items()] if question else [])
        self.choices.setVisible(bool(question))

    def _show_chips(self) -> None:
        """Chips that are there stay, so that the focus does."""
        old = {id(chip.item): chip for chip in self.chips.widgets if isinstance(chip, Chip)}
        focused = next((at for at, chip in enumerate(old.values()) if chip.isAncestorOf(self.focusWidget())), None)
        chips = [old.get(id(item)) or self._chip(item) for item in self._draft.items]
        for chip in chips:
            chip.retranslate()
        self.chips.put(chips)
        if focused is not None and chips:
            chips[min(focused, len(chips) - 1)].face.setFocus()

    def _chip(self, item: DraftFile) -> Chip:
        chip = Chip(item, True, self.chips)
        chip.removed.connect(lambda: self.removed.emit(item))
        return chip

    def _button(self, key: str, words: str) -> QPushButton:
        button = QPushButton(tr(words), self.choices)
        button.setAutoDefault(True)  # Return presses it, as Space does
        button.setProperty("kind", "step")
        button.setAccessibleDescription(self.question.text())
        button.clicked.connect(lambda: self.chosen.emit(key))
        return button
