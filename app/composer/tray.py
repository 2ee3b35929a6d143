"""Attached files above the composer's text, and the choices for files that do not fit into the context."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.attachments.fitting import HEADING
from app.composer.chips import Chip
from app.look.flow import Flow
from app.look.live import Live
from app.look.sheet import Button, fill, label
from app.look.theme import SIZES
from app.state.draft import DraftFile, MessageDraft
from app.words import mark, tr, tr_n

CHOICES = {
    "best": mark("Send the best-matching parts"),
    "beginning": mark("Send the beginning, as much as fits"),
    "remove": mark("Remove"),
}
REMOVE_OF_MANY = mark("Remove largest file")
ONLY_REMOVE = {"remove": CHOICES["remove"]}
AGAIN = {"ask": mark("Change")}


class Tray(Live, QWidget):
    """Attached files of a draft as chips, with the choices for files that do not fit. Hidden while there are none.

    `chosen` carries a key of CHOICES, or `ask`, and the DraftFile to remove, None for the largest. `detail_toggled`
    carries the DraftFile of a picture that is to have all its detail, or no longer.
    """

    chosen = Signal(str, object)
    detail_toggled = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.chips = Flow(self)
        self.question = label("trayQuestion", self)
        self.choices = Flow(self)
        self._draft = MessageDraft()
        fill(QVBoxLayout(self), self.chips, self.question, self.choices, gap=SIZES.gap_s)
        self.apply_look()
        self.hide()

    @property
    def empty(self) -> bool:
        return not self._draft.items

    def show_draft(self, draft: MessageDraft) -> None:
        """Show the draft's files and, if they do not fit, a sentence about them with the choices."""
        self._draft = draft
        self._show_chips()
        self._show_question()
        self.setVisible(bool(draft.items))

    def focus_choices(self) -> None:
        """Focus the first choice, because the user pressed Send and must choose first."""
        if self.choices.widgets:
            self.choices.widgets[0].setFocus()

    def retranslate(self) -> None:
        self._show_question()

    def _show_question(self) -> None:
        draft, question = self._draft, question_of(self._draft)
        self.question.setText(question)
        self.question.setVisible(bool(question))
        offered = ONLY_REMOVE if draft.no_room else CHOICES if draft.fit == "too_much" else AGAIN
        if len(draft.items) > 1 and "remove" in offered:
            offered = offered | {"remove": REMOVE_OF_MANY}
        self.choices.set_widgets([self._button(key, words) for key, words in offered.items()] if question else [])
        self.choices.setVisible(bool(question))

    def _show_chips(self) -> None:
        """Show a chip for each file; existing chips stay, so that one with the focus keeps the focus."""
        old = {id(chip.item): chip for chip in self.chips.widgets if isinstance(chip, Chip)}
        focused = next((at for at, chip in enumerate(old.values()) if chip.isAncestorOf(self.focusWidget())), None)
        chips = [old.get(id(item)) or self._chip(item) for item in self._draft.items]
        for chip in chips:
            chip.show_item()
        self.chips.set_widgets(chips)
        if focused is not None and chips:
            chips[min(focused, len(chips) - 1)].face.setFocus()
        elif focused is not None and (composer := self.parentWidget()) is not None:
            composer.setFocus()  # the last one was removed: the user goes on writing

    def _chip(self, item: DraftFile) -> Chip:
        chip = Chip(item, True, self.chips)
        chip.remove.triggered.connect(lambda: self.chosen.emit("remove", item))
        chip.detail.triggered.connect(lambda: self.detail_toggled.emit(item))
        return chip

    def _button(self, key: str, words: str) -> Button:
        button = Button(self.choices, words, partial(self.chosen.emit, key, None))
        button.setAccessibleDescription(self.question.text())
        return button


def question_of(draft: MessageDraft) -> str:
    """Return the sentence above the choices, or the one about the choice made; "" if all files fit."""
    if draft.no_room:
        return tr("This chat has no room for files. Start a new chat with them, or remove them.")
    if draft.fit == "too_much":
        room = max(0, draft.room - HEADING * len(draft.items))  # the chips' numbers contain no headings
        return tr_n(
            "The file has {tokens} tokens; this chat has room for {room}.",
            "The {n} files have {tokens} tokens; this chat has room for {room}.",
            len(draft.items),
            tokens=f"{draft.tokens or 0:,}",
            room=f"{room:,}",
        )
    if draft.fit == "best":
        return tr("The parts that match your question best will be sent.")
    if draft.fit == "beginning":
        return tr("The beginning will be sent, as much of it as fits.")
    return ""
