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
from PySide6.QtWidgets import QApplication, QFrame, QMenu, QPlainTextEdit, QTextEdit, QWidget

from app.commands.commands import focus_action
from app.composer.chips import SentFiles
from app.look.live import Live
from app.look.sheet import Label, discard
from app.look.theme import SIZES, theme
from app.markdown.block_stack import BlockStack, PlainView
from app.markdown.blocks import LONG, question_blocks
from app.markdown.prose_view import ProseView
from app.markdown.selection import scope_of
from app.state.answer_facts import facts_of, found_sources, sources_line, thinking_tokens
from app.store.chat import ChatMessage
from app.transcript.answer_view import AnswerView
from app.transcript.call_view import CallView
from app.transcript.message_actions import (
    ActionRow,
    MessageActions,
    MessageMenu,
    MessagePosition,
    RemedyButtons,
    actions_of,
)
from app.transcript.message_editor import MessageEditor
from app.transcript.source_links import SourceLinks
from app.transcript.summary_box import SummaryBox
from app.words import escaped_html, mark, tr, worded
from common.sentences import decode_sentence
from engine.protocol.events import Remedy

ENDINGS = {
    "cancelled": mark("Stopped."),
    "engine": mark("The engine stopped here."),
    "length": mark("The answer reached its length limit."),
    "context": mark("The context is full, so the answer ends here."),
    None: mark("This answer was interrupted when the window closed."),
}
EDITED = mark("Edited by you")
NAME_LENGTH = 80


class MessageView(Live, QWidget):
    """One message. `height_changed`: the height for the present width is another one.

    `action_requested` carries an action's name and None; `remedy` and a Remedy; `models` and the menu to fill with
    models; `summary` and the new text of the summary below the message; `source` and the numbers of an attachment and
    of a passage in it; or `send`, `note` or `leave` and the text in the editor, which is to be sent, is being typed, or
    is discarded.
    """

    height_changed = Signal()
    action_requested = Signal(str, object)

    def __init__(
        self, message: ChatMessage, parent: QWidget | None = None, streaming: bool = False, ahead: bool = False
    ) -> None:
        """Make the view of `message`.

        `streaming`: its text is still being written; `ahead`: it is made before it is seen, so it is laid out in
        slices.
        """
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.message = message
        self.position = MessagePosition()
        self.editor: MessageEditor | None = None
        self.streaming = streaming
        self._open_details = False
        self._remedies: tuple[Remedy, ...] = ()
        self._labels: dict[str, Label] = {}
        attached = [each for each in message.attachments if not each.from_collection]
        self.files = SentFiles(attached, self) if attached else None
        self.source_links: SourceLinks | None = None
        self.summary: SummaryBox | None = None
        self.remedy_buttons = RemedyButtons(self)
        self.remedy_buttons.chosen.connect(lambda remedy: self.action_requested.emit("remedy", remedy))
        self.message_actions = MessageActions(self)
        self.message_actions.triggered.connect(self._perform)
        self.row = ActionRow(self.message_actions, self, right=message.role == "user")
        self._make_body(message, streaming, ahead)
        self._make_summary()
        self.apply_look()

    @property
    def text(self) -> str:
        """The message's text, so far if it is being written."""
        return self.body.text if isinstance(self.body, AnswerView) else self.message.content

    @property
    def filled(self) -> bool:
        """Whether all of the message is laid out."""
        return isinstance(self.body, ProseView) or self.body.filled

    def lay_out(self) -> None:
        """Lay out the next block that is not laid out yet, now instead of in a later slice."""
        if not isinstance(self.body, ProseView):
            self.body.lay_out()

    @property
    def stacks(self) -> list[BlockStack]:
        """The block stacks that show the message's text; empty if one ProseView does."""
        if isinstance(self.body, AnswerView):
            return self.body.stacks
        return [self.body] if isinstance(self.body, BlockStack) else []

    def finish(self, message: ChatMessage) -> None:
        """Show the last state of an answer, or the result of a call."""
        self.message, self.streaming = message, False
        if isinstance(self.body, CallView):
            self.body.show_call(message, self.position.busy)
        if isinstance(self.body, AnswerView):
            self.body.finish(message.thought_seconds)
            self.body.set_tokens(thinking_tokens(message))
        self._update_labels()
        self.height_changed.emit()

    def show_summary(self, text: str) -> None:
        """Show another summary below the message, "" for none."""
        if text != self.message.summary:
            self.message = replace(self.message, summary=text)
            self._make_summary()
            self.place_parts()
            self.height_changed.emit()

    def set_position(self, position: MessagePosition, remedies: tuple[Remedy, ...] = ()) -> None:
        """Set the message's position in its chat; only the last message has remedies to choose from."""
        before, self.position = self.position, replace(position, has_remedies=bool(remedies))
        if isinstance(self.body, CallView) and before.busy != position.busy:
            self.body.show_call(self.message, position.busy)
        if self.message.calls and (before.is_last, before.busy) != (position.is_last, position.busy):
            self.height_changed.emit()
        if remedies != self._remedies:
            self._remedies = remedies
            self.remedy_buttons.offer(remedies)
            self.height_changed.emit()
        self._show_actions()

    def copy(self) -> None:
        text = self.body.text_to_copy() if isinstance(self.body, AnswerView) else ""
        QGuiApplication.clipboard().setText(text or self.text)

    def edit(self, text: str) -> None:
        """Open the editor with `text` in place of the message."""
        if self.editor is None:
            editor = self.editor = MessageEditor(
                text, self, of="answer" if self.message.role == "assistant" else "message"
            )
            editor.action_requested.connect(self._editor_action)
            editor.height_changed.connect(self.height_changed)
            editor.show()
            self._show_actions()
            self.height_changed.emit()

    def close_editor(self) -> None:
        if self.editor is not None:
            discard(self.editor)
            self.editor = None
            self._show_actions()
            self.height_changed.emit()

    def pinned(self) -> bool:
        """Return whether deleting this view would lose typed text, a selection, a streamed answer or the focus."""
        if self.editor is not None or (self.summary is not None and self.summary.editor is not None):
            return True
        if self.streaming or self.has_focus():
            return True
        return any(text.textCursor().hasSelection() for text in self.texts())

    def texts(self) -> list[QTextEdit | QPlainTextEdit]:
        """Return all texts that the user can select from."""
        return [*self.findChildren(QTextEdit), *self.findChildren(QPlainTextEdit)]

    def restyle(self) -> None:
        self._natural = self.body.natural_width() if isinstance(self.body, ProseView) else SIZES.column

    def retranslate(self) -> None:
        self._update_labels()

    # --- layout -----------------------------------------------------------------------------------------------------

    def heightForWidth(self, width: int) -> int:
        inner = width - 2 * SIZES.gap
        below = SIZES.gap_s + sum(part.heightForWidth(inner) + SIZES.gap for part in self._parts_below())
        if self.message.calls and not below - SIZES.gap_s and not self._has_row:
            return self._body_height(inner)
        return self._files_height(inner) + self._body_height(inner) + below + SIZES.row

    @property
    def _has_row(self) -> bool:
        """Whether there is room for actions: among calls, only the last message has it, once nothing more follows."""
        return not self.message.calls or (self.position.is_last and not self.position.busy) or self.editor is not None

    def resizeEvent(self, _event: object) -> None:
        self.place_parts()

    def place_parts(self) -> None:
        """Move all parts to their positions for the present size."""
        left, width = SIZES.gap, self.width() - 2 * SIZES.gap
        if width <= 0 or not self.testAttribute(Qt.WidgetAttribute.WA_Resized):
            return
        top = (SIZES.gap_s if self._has_row else 0) + self._files_height(width)
        if self.files is not None:
            self.files.setGeometry(left, SIZES.gap_s, width, top - 2 * SIZES.gap_s)
        top += self._place_body(left, top, width)
        for part in self._parts_below():
            height = part.heightForWidth(width)
            part.setGeometry(left, top + SIZES.gap, width, height)
            top += height + SIZES.gap
        name = self._labels.get("modelName")
        if name is not None:  # in the row of the actions, which keeps its place while they are hidden
            name.setGeometry(left + width // 2, top + SIZES.gap_s, width - width // 2, SIZES.row - SIZES.gap_s)
        inset = 0 if self._bubble else SIZES.gap - SIZES.gap_s  # for the blank space inside an icon
        self.row.setGeometry(left - inset, top + SIZES.gap_s, width + inset, SIZES.row - SIZES.gap_s)

    def _files_height(self, width: int) -> int:
        return self.files.heightForWidth(width) + SIZES.gap_s if self.files is not None else 0

    def _body_height(self, width: int) -> int:
        if self.editor is not None:
            return self.editor.height_for(width)
        if self._bubble is not None and not self.text:  # a message of files only
            return 0
        if not isinstance(self.body, AnswerView):
            inner = self._bubble_width(width) - 2 * SIZES.gap_l
            return self.body.heightForWidth(inner) + SIZES.gap_m + SIZES.gap_s  # leading is below the last line
        if not self.text and not self.streaming:
            return 0
        return self.body.heightForWidth(width) or SIZES.gap_xl

    def _place_body(self, left: int, top: int, width: int) -> int:
        height = self._body_height(width)
        shown = self._bubble or self.body
        shown.setVisible(self.editor is None and height > 0)
        if self.editor is not None:
            self.editor.setGeometry(left, top, width, height)
            return height
        if self._bubble is None:
            self.body.setGeometry(left, top, width, height)
            return height
        bubble = self._bubble_width(width)
        self._bubble.setGeometry(left + width - bubble, top, bubble, height)
        inner = height - SIZES.gap_m - SIZES.gap_s
        self.body.setGeometry(SIZES.gap_l, SIZES.gap_m, bubble - 2 * SIZES.gap_l, inner)
        return height

    def _bubble_width(self, width: int) -> int:
        return min(int(width * SIZES.user_width), self._natural + 2 * SIZES.gap_l)

    def _parts_below(self) -> list[Label | RemedyButtons | SourceLinks | SummaryBox]:
        before = [self._labels.get(name) for name in ("sources", "problem", "aside")]
        parts = [self.source_links, *before, self.remedy_buttons, self._labels.get("details"), self.summary]
        return [part for part in parts if part is not None and not part.isHidden()]

    # --- body and labels --------------------------------------------------------------------------------------------

    def _make_body(self, message: ChatMessage, streaming: bool, ahead: bool) -> None:
        self.body: ProseView | BlockStack | AnswerView
        self._bubble: QFrame | None = None
        self._natural = 0
        if message.role == "user":
            self._bubble = QFrame(self)
            self._bubble.setObjectName("bubble")
            self._make_question(self._bubble, message.content, ahead)
            return
        self.body = CallView(message, self) if message.role == "tool" else AnswerView(self)
        self.body.height_changed.connect(self.height_changed)
        self.body.answer_requested.connect(lambda: self.action_requested.emit("answer_now", None))
        if isinstance(self.body, CallView):
            self.body.show_call(message, self.position.busy)
        elif streaming:
            self.body.start(message.content, message.thought_seconds)
        else:
            self.body.set_text(message.content, message.thought_seconds, ahead)
            self.body.set_tokens(thinking_tokens(message))

    def _make_question(self, bubble: QFrame, text: str, ahead: bool) -> None:
        blocks = list(question_blocks(text)) if len(text) <= LONG else []
        if len(blocks) == 1 and blocks[0].kind == "plain":
            self.body = PlainView(bubble)
            self.body.set_block(blocks[0])
            return
        self.body = BlockStack(bubble)  # in pieces, because 200,000 characters at once would take 160 ms
        self.body.height_changed.connect(self.height_changed)
        self.body.set_plain(text, ahead)

    def _update_labels(self) -> None:
        message = self.message
        answer = message.role == "assistant" and not self.streaming
        ending = ENDINGS.get(message.stop_reason, "") if answer else ""
        ending = EDITED if message.edited_at else ending
        problem = worded(decode_sentence(message.problem)) if message.problem else ""
        lines = [problem, message.detail] if message.stop_reason == "engine" else [message.detail]
        details = "\n".join(filter(None, lines))[-2000:] if answer else ""
        self._show_sources(answer)
        self._set_label("sources", sources_line(message.sources) if answer else "")
        self._set_label("problem", problem if answer and message.stop_reason == "failed" else "")
        self._set_label("aside", tr(ending) if ending else "")
        self._set_label("details", details if self._open_details else "")
        self._set_label("modelName", message.model if answer and not message.calls else "")
        self.has_details = bool(details)
        who = tr("You") if message.role == "user" else tr("Answer")
        start = " ".join(message.content[: 2 * NAME_LENGTH].split())[:NAME_LENGTH]
        self.setAccessibleName(self.body.line_text if isinstance(self.body, CallView) else f"{who}: {start}")
        facts = "\n".join(facts_of(message)) if message.role == "user" or answer else ""
        self.row.setToolTip(escaped_html(facts) if facts else "")  # a server names its models as it likes
        self._show_actions()
        self.place_parts()

    def _make_summary(self) -> None:
        """Make, change or remove the box with the summary."""
        text = self.message.summary
        if self.summary is None and text:
            self.summary = SummaryBox(text, self)
            self.summary.changed.connect(lambda text: self.action_requested.emit("summary", text))
            self.summary.height_changed.connect(self.height_changed)
            self.summary.show()
        elif self.summary is not None and text:
            self.summary.show_text(text)
        elif self.summary is not None:
            discard(self.summary)
            self.summary = None

    def _show_sources(self, answer: bool) -> None:
        sources = found_sources(self.message.sources) if answer else []
        if self.source_links is None and sources:
            self.source_links = SourceLinks(self, lambda *which: self.action_requested.emit("source", which))
        if self.source_links is not None:
            self.source_links.show_sources(sources)

    def _set_label(self, name: str, text: str) -> None:
        label = self._labels.get(name)
        if label is None and text:
            label = self._labels[name] = Label(name, self)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            if name == "modelName":
                label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)  # the actions' tip is below it
                label.setWordWrap(False)
        if label is not None:
            label.say(text)

    def toggle_details(self) -> None:
        self._open_details = not self._open_details
        self._update_labels()
        self.height_changed.emit()

    # --- actions ----------------------------------------------------------------------------------------------------

    def _perform(self, action: QAction) -> None:
        name = str(action.data())
        if name == "more":
            button = self.row.buttons[name]
            self.open_menu(button.mapToGlobal(button.rect().bottomLeft()))
        elif name == "again_with":
            self._open_models(self.row.buttons[name])
        elif name == "copy":
            self.copy()
        elif name == "details":
            self.toggle_details()
        else:
            self.action_requested.emit(name, None)

    def open_menu(self, point: QPoint) -> None:
        """Open the menu at a point of the screen."""
        self.menu().popup(point)

    def menu(self) -> MessageMenu:
        menu = MessageMenu(self, self.message_actions, self.message, self.position, self.has_details)
        menu.models_requested.connect(lambda models: self.action_requested.emit("models", models))
        return menu

    def _open_models(self, button: QWidget) -> None:
        """Open the menu of models at the button."""
        menu = QMenu(self)
        menu.aboutToHide.connect(menu.deleteLater)
        self.action_requested.emit("models", menu)
        menu.popup(button.mapToGlobal(button.rect().bottomLeft()))

    def _editor_action(self, what: str, text: str) -> None:
        """Close the editor if it was left, and pass the request on."""
        if what == "leave":
            self.close_editor()
            self.setFocus()
        self.action_requested.emit(what, text)

    def _show_actions(self) -> None:
        editing = self.editor is not None
        self.row.setVisible(not editing and self._has_row)
        # An answer that only calls tools is not seen, so that the focus goes past it.
        seen = self._has_row or bool(self.text.strip())
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if seen else Qt.FocusPolicy.NoFocus)
        self.row.offer(() if editing or self.streaming else actions_of(self.message, self.position), self.position)
        self.row.open(self.underMouse() or self.has_focus())

    def focus_changed(self) -> None:
        """Redraw after the focus has entered or left this message, or moved within it."""
        self._show_actions()
        self.update()

    def has_focus(self) -> bool:
        """Return whether the focus is on the message or on something in it."""
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
        self.open_menu(self.mapToGlobal(self._menu_corner()) if by_keys else event.globalPos())

    def _menu_corner(self) -> QPoint:
        """Return where a menu opened by keyboard appears: near the top left corner of the visible part."""
        seen = self.visibleRegion().boundingRect()
        return QPoint(SIZES.gap_xl, seen.top() + SIZES.gap_xl)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        name = focus_action(event, "message") if self.hasFocus() else ""
        if name in ("edit", "delete"):  # even while their actions are disabled: the receiver says why
            self.action_requested.emit(name, None)
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
