"""One message of the transcript: the user's bubble or the assistant's answer, its problem and its actions."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QEnterEvent, QGuiApplication
from PySide6.QtWidgets import QFrame, QGraphicsOpacityEffect, QLabel, QPushButton, QWidget

from app.answer_view import AnswerView
from app.chat import ChatMessage
from app.choices import Choices
from app.icons import icon
from app.prose_view import ProseView
from app.theme import SIZES, theme
from engine.protocol import Remedy, Statistics

ENDINGS = {
    "cancelled": "Stopped.",
    "engine": "The engine stopped here.",
    "length": "The answer reached its length limit.",
    "context": "The context is full, so the answer ends here: start a new chat, or let older turns be forgotten.",
    None: "This answer was interrupted when the window closed.",
}


class MessageView(QWidget):
    """`resized`: the height for the present width has changed. `again`: answer anew. `link`: a clicked address.

    `chosen`: a remedy (engine.protocol.Remedy) for a chat that is too long."""

    resized = Signal()
    again = Signal()
    link = Signal(str)
    chosen = Signal(object)

    def __init__(self, message: ChatMessage, parent: QWidget | None = None, streaming: bool = False) -> None:
        super().__init__(parent)
        self.message = message
        self._text = message.content
        self._last = False
        self._problem = _label("problem", self)
        self._aside = _label("aside", self)
        self._details = _label("details", self)
        self.choices = Choices(self)
        self.choices.chosen.connect(self.chosen)
        self._actions = QWidget(self)
        self._buttons = [self._button("Copy", "copy", self.copy), self._button("Try again", "again", self.again.emit)]
        self._fold = self._button("Details", "", self._toggle_details)
        self._make_body(message, streaming)
        self._tell(message, streaming)
        self._show_actions(False)

    @property
    def text(self) -> str:
        return self._text

    def grow(self, piece: str) -> None:
        self._text += piece
        if isinstance(self.body, AnswerView):
            self.body.grow(piece)

    def finish(self, message: ChatMessage) -> None:
        self.message, self._text = message, message.content
        if isinstance(self.body, AnswerView):
            self.body.finish(message.thought_seconds)
        self._tell(message, False)
        self.resized.emit()

    def set_last(self, last: bool, remedies: tuple[Remedy, ...] = ()) -> None:
        """Only the last answer can be written again, and has remedies to choose from."""
        self._last = last
        if remedies or self.choices.buttons:
            self.choices.offer(remedies)
            self._place()
            self.resized.emit()
        self._show_actions(self.underMouse() or self._has_focus())

    def copy(self) -> None:
        text = self.body.text_to_copy() if isinstance(self.body, AnswerView) else ""
        QGuiApplication.clipboard().setText(text or self._text)

    def restyle(self) -> None:
        for button, name in zip(self._buttons, ("copy", "again"), strict=True):
            button.setIcon(icon(name, theme().soft))
        self.body.restyle()

    def heightForWidth(self, width: int) -> int:
        below = sum(label.heightForWidth(width) + SIZES.gap for label in self._labels())
        if isinstance(self.body, ProseView):
            below += SIZES.gap_m + SIZES.gap_s  # the last line has its own space below
            return self.body.heightForWidth(self._bubble_width(width) - 2 * SIZES.gap_l) + below + SIZES.row
        height = self.body.heightForWidth(width)
        return (height or self._empty_height()) + below + SIZES.row

    # --- inside -----------------------------------------------------------------------------------------------------

    def _make_body(self, message: ChatMessage, streaming: bool) -> None:
        self.body: ProseView | AnswerView
        self._bubble: QFrame | None = None
        if message.role == "user":
            self._bubble = QFrame(self)
            self._bubble.setObjectName("bubble")
            self.body = ProseView(self._bubble)
            self.body.set_plain(message.content)
            self._natural = self.body.natural_width()
            self._watch(self.body)
            return
        self.body = AnswerView(self)
        self.body.resized.connect(self.resized)
        self.body.link.connect(self.link)
        if streaming:
            self.body.start(message.content, message.thought_seconds)
        else:
            self.body.set_text(message.content, message.thought_seconds)

    def _tell(self, message: ChatMessage, streaming: bool) -> None:
        answer = message.role == "assistant" and not streaming
        failed = answer and message.stop_reason == "failed"
        self._problem.setText(message.problem if failed else "")
        self._aside.setText(ENDINGS.get(message.stop_reason, "") if answer else "")
        said = [message.problem, message.detail] if message.stop_reason == "engine" else [message.detail]
        self._details.setText("\n".join(filter(None, said))[-2000:] if answer else "")
        self._details.hide()
        self._problem.setVisible(bool(self._problem.text()))
        self._aside.setVisible(bool(self._aside.text()))
        self._streaming = streaming
        if message.statistics:
            self.setToolTip(_statistics_line(message))
        self._show_actions(self.underMouse())
        self._place()

    def _button(self, text: str, name: str, work: Callable[[], object]) -> QPushButton:
        button = QPushButton(text, self._actions)
        button.setProperty("kind", "quiet")
        button.setAccessibleName(f"{text} message" if text == "Copy" else text)
        if name:
            button.setIcon(icon(name, theme().soft))
        button.clicked.connect(lambda: work())
        self._watch(button)
        return button

    def _watch(self, widget: QWidget) -> None:
        widget.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self._show_actions(event.type() == QEvent.Type.FocusIn or self.underMouse())
        return False

    def enterEvent(self, _event: QEnterEvent) -> None:
        self._show_actions(True)

    def leaveEvent(self, _event: QEvent) -> None:
        self._show_actions(self._has_focus())

    def _has_focus(self) -> bool:
        focused = QGuiApplication.focusObject()
        return isinstance(focused, QWidget) and self.isAncestorOf(focused)

    def _show_actions(self, wanted: bool) -> None:
        """Transparent rather than hidden buttons keep their place in the tab order."""
        failed = bool(self._problem.text()) or self.message.stop_reason == "engine"
        again = self._last and self.message.role == "assistant" and not self._streaming
        self._buttons[0].setVisible(bool(self._text))
        self._buttons[1].setVisible(again)
        self._fold.setVisible(bool(self._details.text()))
        shown = (wanted or failed) and not self._streaming
        for button in (*self._buttons, self._fold):
            button.setProperty("faded", not shown)
            button.setGraphicsEffect(None if shown else _clear_effect(button))  # type: ignore[arg-type]  # the stub forgets None

    def _toggle_details(self) -> None:
        self._details.setVisible(self._details.isHidden())
        self.resized.emit()
        self._place()

    def _labels(self) -> list[QLabel | Choices]:
        below = (self._problem, self._aside, self.choices, self._details)
        return [part for part in below if not part.isHidden()]

    def _bubble_width(self, width: int) -> int:
        return min(int(width * SIZES.user_width), self._natural + 2 * SIZES.gap_l)

    def resizeEvent(self, _event: object) -> None:
        self._place()

    def _place(self) -> None:
        width = self.width()
        top = self._place_bubble(width) if self._bubble else self._place_answer(width)
        for label in self._labels():
            height = label.heightForWidth(width)
            label.setGeometry(0, top + SIZES.gap, width, height)
            top += height + SIZES.gap
        self._place_actions(top)

    def _place_bubble(self, width: int) -> int:
        assert self._bubble
        bubble = self._bubble_width(width)
        inner = bubble - 2 * SIZES.gap_l
        height = self.body.heightForWidth(inner)
        self._bubble.setGeometry(width - bubble, 0, bubble, height + SIZES.gap_m + SIZES.gap_s)
        self.body.setGeometry(SIZES.gap_l, SIZES.gap_m, inner, height)
        return height + SIZES.gap_m + SIZES.gap_s

    def _place_answer(self, width: int) -> int:
        height = self.body.heightForWidth(width)
        self.body.setGeometry(0, 0, width, height)
        return height or self._empty_height()

    def _empty_height(self) -> int:
        return SIZES.gap_xl if self._streaming else 0

    def _place_actions(self, top: int) -> None:
        left = 0
        shown = [button for button in (*self._buttons, self._fold) if not button.isHidden()]
        for button in shown:
            size = button.sizeHint()
            button.setGeometry(left, 0, size.width(), size.height())
            left += size.width() + 4
        offset = self.width() - left if self._bubble else -6
        self._actions.setGeometry(offset, top + SIZES.gap_s, max(left, 1), SIZES.row - 4)


def _label(name: str, parent: QWidget) -> QLabel:
    label = QLabel(parent)
    label.setObjectName(name)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    label.hide()
    return label


def _clear_effect(button: QPushButton) -> QGraphicsOpacityEffect:
    effect = QGraphicsOpacityEffect(button)
    effect.setOpacity(0.0)
    return effect


def _statistics_line(message: ChatMessage) -> str:
    numbers = msgspec.json.decode(message.statistics, type=Statistics)
    speed = numbers.decode_tokens / numbers.decode_seconds if numbers.decode_seconds > 0 else 0
    return f"{message.model}: {numbers.decode_tokens:,} tokens, {speed:.0f} tok/s"
