"""One message of the transcript: the user's bubble or the assistant's answer, its problem and its actions."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QEvent, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QColor,
    QContextMenuEvent,
    QEnterEvent,
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QPlainTextEdit, QTextEdit, QWidget

from app.commands.commands import meant
from app.composer.chips import SentFiles
from app.look.live import Live
from app.look.theme import SIZES, theme
from app.markdown.block_stack import BlockStack
from app.markdown.blocks import LONG
from app.markdown.prose_view import ProseView
from app.markdown.selection import scope_of
from app.state.answer_facts import facts_of, sources_line
from app.store.chat import ChatMessage
from app.transcript.answer_view import AnswerView
from app.transcript.message_actions import ActionRow, MessageActions, MessageMenu, Place, RemedyButtons, actions_of
from app.transcript.message_editor import MessageEditor
from app.words import mark, tr, worded
from common.reasoning import Kind
from common.sentences import restored
from engine.protocol import Remedy

ENDINGS = {
    "cancelled": mark("Stopped."),
    "engine": mark("The engine stopped here."),
    "length": mark("The answer reached its length limit."),
    "context": mark("The context is full, so the answer ends here."),
    None: mark("This answer was interrupted when the window closed."),
}
NAME_LENGTH = 80


class MessageView(Live, QWidget):
    """`resized`: the height for the present width has changed.

    `asked`: what is to be done, and what else there is to say of it: an action's name and nothing; `remedy` and one
    (engine.protocol.Remedy); `send`, `note` and `leave` and what stands in the editor: to be sent, so far, given up.
    """

    resized = Signal()
    asked = Signal(str, object)

    def __init__(
        self, message: ChatMessage, parent: QWidget | None = None, streaming: bool = False, ahead: bool = False
    ) -> None:
        """`streaming`: its text is still being written; `ahead`: nobody sees it yet, so it may take its time."""
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.message = message
        self.place = Place()
        self.editor: MessageEditor | None = None
        self._text = message.content
        self._streaming = streaming
        self._open_details = False
        self._remedies: tuple[Remedy, ...] = ()
        self._labels: dict[str, QLabel] = {}
        self.files = SentFiles(message.attachments, self) if message.attachments else None
        self.choices = RemedyButtons(self)
        self.choices.chosen.connect(lambda remedy: self.asked.emit("remedy", remedy))
        self.verbs = MessageActions(self)
        self.verbs.triggered.connect(self._do)
        self.row = ActionRow(self.verbs, self, right=message.role == "user")
        self._make_body(message, streaming, ahead)
        self.apply_look()

    @property
    def text(self) -> str:
        return self._text

    @property
    def streaming(self) -> bool:
        return self._streaming

    def said(self, name: str) -> str:
        """What the label `problem`, `aside` or `details` says now; empty if it is not shown."""
        label = self._labels.get(name)
        return label.text() if label is not None and not label.isHidden() else ""

    @property
    def filled(self) -> bool:
        """Is all of it laid out?"""
        return isinstance(self.body, ProseView) or self.body.filled

    def lay_out(self) -> None:
        """The next block of what is not laid out yet, now."""
        if not isinstance(self.body, ProseView):
            self.body.lay_out()

    @property
    def stacks(self) -> list[BlockStack]:
        """What its text is laid out in."""
        if isinstance(self.body, AnswerView):
            return self.body.stacks
        return [self.body] if isinstance(self.body, BlockStack) else []

    def grow(self, text: str, part: Kind = "text") -> None:
        self._text += text
        if isinstance(self.body, AnswerView):
            self.body.grow(text, part)

    def finish(self, message: ChatMessage) -> None:
        self.message, self._text, self._streaming = message, message.content, False
        if isinstance(self.body, AnswerView):
            self.body.finish(message.thought_seconds)
        self._tell()
        self.resized.emit()

    def set_place(self, place: Place, remedies: tuple[Remedy, ...] = ()) -> None:
        """Where the message stands now. Only the last one has remedies to choose from."""
        self.place = replace(place, remedies=bool(remedies))
        if remedies != self._remedies:
            self._remedies = remedies
            self.choices.offer(remedies)
            self.resized.emit()
        self._show_actions()

    def copy(self) -> None:
        text = self.body.text_to_copy() if isinstance(self.body, AnswerView) else ""
        QGuiApplication.clipboard().setText(text or self._text)

    def edit(self, text: str) -> None:
        """Open the editor with `text`; it takes the place of the bubble."""
        if self.editor is None and self.message.role == "user":
            editor = self.editor = MessageEditor(text, self)
            editor.asked.connect(self._edit)
            editor.resized.connect(self.resized)
            editor.show()
            self._show_actions()
            self.resized.emit()

    def close_editor(self) -> None:
        if self.editor is not None:
            self.editor.hide()
            self.editor.deleteLater()
            self.editor = None
            self._show_actions()
            self.resized.emit()

    def pinned(self) -> bool:
        """Would something be lost if this view was let go: what is typed, selected, under way, or has the focus?"""
        if self.editor is not None or self._streaming or self.has_focus():
            return True
        return any(text.textCursor().hasSelection() for text in self.texts())

    def texts(self) -> list[QTextEdit | QPlainTextEdit]:
        """Whatever one can select from."""
        return [*self.findChildren(QTextEdit), *self.findChildren(QPlainTextEdit)]

    def restyle(self) -> None:
        self._natural = self.body.natural_width() if isinstance(self.body, ProseView) else SIZES.column

    def retranslate(self) -> None:
        self._tell()

    # --- layout -----------------------------------------------------------------------------------------------------

    def heightForWidth(self, width: int) -> int:
        inner = width - 2 * SIZES.gap
        below = SIZES.gap_s + sum(part.heightForWidth(inner) + SIZES.gap for part in self._below())
        return self._files_height(inner) + self._body_height(inner) + below + SIZES.row

    def resizeEvent(self, _event: object) -> None:
        self.place_parts()

    def place_parts(self) -> None:
        """Put everything in its place for the present size."""
        left, width = SIZES.gap, self.width() - 2 * SIZES.gap
        if width <= 0 or not self.testAttribute(Qt.WidgetAttribute.WA_Resized):
            return
        top = SIZES.gap_s + self._files_height(width)
        if self.files is not None:
            self.files.setGeometry(left, SIZES.gap_s, width, top - 2 * SIZES.gap_s)
        top += self._place_body(left, top, width)
        for part in self._below():
            height = part.heightForWidth(width)
            part.setGeometry(left, top + SIZES.gap, width, height)
            top += height + SIZES.gap
        inset = 0 if self._bubble else SIZES.gap - SIZES.gap_s  # an icon has blank space around it
        self.row.setGeometry(left - inset, top + SIZES.gap_s, width + inset, SIZES.row - SIZES.gap_s)

    def _files_height(self, width: int) -> int:
        return self.files.heightForWidth(width) + SIZES.gap_s if self.files is not None else 0

    def _body_height(self, width: int) -> int:
        if self.editor is not None:
            return self.editor.height_for(width)
        if self._bubble is not None and not self._text:  # files alone
            return 0
        if not isinstance(self.body, AnswerView):
            inner = self._bubble_width(width) - 2 * SIZES.gap_l
            return self.body.heightForWidth(inner) + SIZES.gap_m + SIZES.gap_s  # the last line has its own space below
        if not self._text and not self._streaming:
            return 0
        return self.body.heightForWidth(width) or SIZES.gap_xl

    def _place_body(self, left: int, top: int, width: int) -> int:
        height = self._body_height(width)
        if self._bubble is None:
            self.body.setGeometry(left, top, width, height)
            self.body.setVisible(height > 0)
            return height
        self._bubble.setVisible(self.editor is None and bool(self._text))
        if self.editor is not None:
            self.editor.setGeometry(left, top, width, height)
            return height
        bubble = self._bubble_width(width)
        self._bubble.setGeometry(left + width - bubble, top, bubble, height)
        inner = height - SIZES.gap_m - SIZES.gap_s
        self.body.setGeometry(SIZES.gap_l, SIZES.gap_m, bubble - 2 * SIZES.gap_l, inner)
        return height

    def _bubble_width(self, width: int) -> int:
        return min(int(width * SIZES.user_width), self._natural + 2 * SIZES.gap_l)

    def _below(self) -> list[QLabel | RemedyButtons]:
        before = [self._labels.get(name) for name in ("sources", "problem", "aside")]
        parts = [*before, self.choices, self._labels.get("details")]
        return [part for part in parts if part is not None and not part.isHidden()]

    # --- what is said -----------------------------------------------------------------------------------------------

    def _make_body(self, message: ChatMessage, streaming: bool, ahead: bool) -> None:
        self.body: ProseView | BlockStack | AnswerView
        self._bubble: QFrame | None = None
        self._natural = 0
        if message.role == "user":
            self._bubble = QFrame(self)
            self._bubble.setObjectName("bubble")
            self._make_question(self._bubble, message.content, ahead)
            return
        self.body = AnswerView(self)
        self.body.resized.connect(self.resized)
        if streaming:
            self.body.start(message.content, message.thought_seconds)
        else:
            self.body.set_text(message.content, message.thought_seconds, ahead)

    def _make_question(self, bubble: QFrame, text: str, ahead: bool) -> None:
        if len(text) <= LONG:
            self.body = ProseView(bubble)
            self.body.set_plain(text)
            return
        self.body = BlockStack(bubble)  # in pieces: 200,000 characters would take 160 ms
        self.body.resized.connect(self.resized)
        self.body.set_plain(text, ahead)

    def _tell(self) -> None:
        message = self.message
        answer = message.role == "assistant" and not self._streaming
        ending = ENDINGS.get(message.stop_reason, "") if answer else ""
        problem = worded(restored(message.problem)) if message.problem else ""
        said = [problem, message.detail] if message.stop_reason == "engine" else [message.detail]
        details = "\n".join(filter(None, said))[-2000:] if answer else ""
        self._say("sources", sources_line(message.sources) if answer else "")
        self._say("problem", problem if answer and message.stop_reason == "failed" else "")
        self._say("aside", tr(ending) if ending else "")
        self._say("details", details if self._open_details else "")
        self.has_details = bool(details)
        who = tr("You") if message.role == "user" else tr("Answer")
        self.setAccessibleName(f"{who}: {' '.join(message.content[: 2 * NAME_LENGTH].split())[:NAME_LENGTH]}")
        self.row.setToolTip("\n".join(facts_of(message)) if message.role == "user" or answer else "")
        self._show_actions()
        self.place_parts()

    def _say(self, name: str, text: str) -> None:
        label = self._labels.get(name)
        if label is None and text:
            label = self._labels[name] = _label(name, self)
        if label is not None:
            label.setText(text)
            label.setVisible(bool(text))

    def toggle_details(self) -> None:
        self._open_details = not self._open_details
        self._tell()
        self.resized.emit()

    # --- actions ----------------------------------------------------------------------------------------------------

    def _do(self, action: QAction) -> None:
        name = str(action.data())
        if name == "more":
            button = self.row.buttons[name]
            self.open_menu(button.mapToGlobal(button.rect().bottomLeft()))
        elif name == "copy":
            self.copy()
        elif name == "details":
            self.toggle_details()
        else:
            self.asked.emit(name, None)

    def open_menu(self, point: QPoint) -> None:
        """At a point of the screen."""
        self.menu().popup(point)

    def menu(self) -> MessageMenu:
        return MessageMenu(self, self.verbs, self.message, self.place, self.has_details)

    def _edit(self, what: str, text: str) -> None:
        """The editor asks for something."""
        if what == "leave":
            self.close_editor()
            self.setFocus()
        self.asked.emit(what, text)

    def _show_actions(self) -> None:
        editing = self.editor is not None
        self.row.setVisible(not editing)
        self.row.offer(() if editing or self._streaming else actions_of(self.message, self.place), self.place)
        self.row.open(self.underMouse() or self.has_focus())

    def focus_changed(self) -> None:
        """The focus came into this message, went out of it or moved within."""
        self._show_actions()
        self.update()

    def has_focus(self) -> bool:
        """Is the focus on the message, or on something in it?"""
        focused = QApplication.focusWidget()
        return focused is not None and (focused is self or self.isAncestorOf(focused))

    def enterEvent(self, _event: QEnterEvent) -> None:
        self.row.open(True)

    def leaveEvent(self, _event: QEvent) -> None:
        self.row.open(self.has_focus())

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_changed()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_keys = event.reason() == QContextMenuEvent.Reason.Keyboard
        self.open_menu(self.mapToGlobal(self._corner()) if by_keys else event.globalPos())

    def _corner(self) -> QPoint:
        """Where the menu opens that was asked for by keyboard: at the top of what of the message is visible."""
        seen = self.visibleRegion().boundingRect()
        return QPoint(SIZES.gap_xl, seen.top() + SIZES.gap_xl)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        name = meant(event, "message") if self.hasFocus() else ""
        if name in ("edit", "delete"):  # its action waits for the end of an answer: whoever is asked says so
            self.asked.emit(name, None)
        elif self.hasFocus() and event.matches(QKeySequence.StandardKey.SelectAll) and (scope := scope_of(self)):
            scope.select_all(self)
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QColor(theme().accent))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), SIZES.radius, SIZES.radius)


def _label(name: str, parent: QWidget) -> QLabel:
    label = QLabel(parent)
    label.setObjectName(name)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label
