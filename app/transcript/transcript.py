"""The conversation's messages in one centred column, of which only those near the view have widgets."""

from __future__ import annotations

import math
import time

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QPushButton, QScrollArea, QWidget

from app.chats.chat import ChatMessage
from app.chats.message_actions import Place
from app.commands.commands import IN_PLACE
from app.look.icons import icon
from app.look.tab_stops import step_inside
from app.look.theme import SIZES, theme
from app.open_chats.conversation import Change, Conversation
from app.slices import slices
from app.transcript.answer_view import AnswerView
from app.transcript.drag_scroll import DragScroll
from app.transcript.message_column import MessageColumn
from app.transcript.message_view import MessageView
from app.words import tr

AHEAD_PAGES, KEPT_PAGES = 1.5, 4.0  # made before they are seen; kept after they were
PATIENCE_SECONDS = 0.004  # of a step of scrolling; a frame has 16 ms, and painting takes its share
OPENING_SECONDS, OPENING_ROWS = 0.003, 6  # of the turn that opens a chat: so many of the last messages at least
Anchor = tuple[int, int]  # a row, and where it is to be in the view: pixels below the view's upper edge


class Transcript(QScrollArea):
    """Shows one conversation. `link` carries a clicked address, `chosen` a remedy.

    `asked`: a message's id and an action's name; `sent`: the id and its new wording; `edited`, `left`: the id and what
    stands in its editor; `menu`: the id, and where on the screen its menu is wanted.
    """

    link = Signal(str)
    chosen = Signal(object)
    asked = Signal(str, str)
    sent = Signal(str, str)
    edited = Signal(str, str)
    left = Signal(str, str)
    menu = Signal(str, QPoint)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("transcript")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.column = MessageColumn(self._make)
        self.column.changed.connect(self._resized)
        self.setWidget(self.column)
        DragScroll(self, self.column)
        self.conversation: Conversation | None = None
        self.following = True
        self._moving = False
        self._forward = True
        self._value = 0
        self._held: Anchor | None = None
        self._down = QPushButton(self)
        self._down.setObjectName("down")
        self._down.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._down.clicked.connect(self.to_end)
        self._down.hide()
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        for key in IN_PLACE:
            if key.place == "message" and key.name in ("previous", "next"):  # in the message's own texts too
                self._shortcut(key.keys[0], key.name)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._focus_moved)
        self.restyle()
        self.retranslate()

    @property
    def views(self) -> list[MessageView]:
        """The views there are, from top to bottom; the last one is always the last message's."""
        return self.column.views

    def show_conversation(self, conversation: Conversation) -> None:
        if self.conversation is not None:
            self.conversation.listeners.remove(self._changed)
        self.conversation = conversation
        conversation.listeners.append(self._changed)
        self.column.show_messages([])
        self.following = True
        self._show_branch(OPENING_SECONDS)

    def to_end(self) -> None:
        self.following = True
        self._fill()

    def to_start(self) -> None:
        self.scroll_to(0)

    def show_message(self, id: str) -> None:
        """Bring the message into view and give it the focus, on whatever branch it is."""
        if self.conversation is None:
            return
        if self.column.row_of(id) is None:
            self.conversation.show(id)
        row = self.column.row_of(id)
        if row is not None:
            self.scroll_to(row)
            self.column.build(row).setFocus()

    @property
    def whole(self) -> bool:
        """Is all that is in view laid out?"""
        if not len(self.column):
            return True
        top = self._top()
        rows = range(self.column.row_at(top), self.column.row_at(top + self.viewport().height() - 1) + 1)
        return all((view := self.column.view(row)) is not None and view.filled for row in rows)

    @property
    def place(self) -> str:
        """The id of the message at the upper edge of the view; "" at the chat's end, where it comes up anyway."""
        if self.following or self.conversation is None or not len(self.column):
            return ""
        return self.conversation.messages[self.column.row_at(self._top() + SIZES.gap_xl)].id

    def scroll_to(self, row: int) -> None:
        """The row at the upper edge of the view, if the column is long enough."""
        if len(self.column):
            self.following = False
            self._fill((row, SIZES.gap_xl))
            self._see_whether_following()

    def focus_message(self, id: str) -> None:
        """Give a message that is (about to be) in view the focus; nothing scrolls."""
        row = self.column.row_of(id)
        if row is not None:
            self.column.build(row).setFocus()

    def view_of(self, id: str) -> MessageView | None:
        row = self.column.row_of(id)
        return None if row is None else self.column.view(row)

    def restyle(self) -> None:
        self._down.setFixedSize(SIZES.control, SIZES.control)
        self._down.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self._down.setIcon(icon("down", theme().ink))
        for view in self.views:
            view.restyle()
        self.column.remeasure()
        self._relayout()

    def retranslate(self) -> None:
        self.setAccessibleName(tr("Messages"))
        self._down.setAccessibleName(tr("To the end"))
        self._down.setToolTip(tr("To the end"))
        for view in self.views:
            view.retranslate()

    # --- what the conversation says ---------------------------------------------------------------------------------

    def _changed(self, change: Change) -> None:
        message = change.message
        if change.kind == "added" and message:
            if message.role == "user":
                self.following = True
            self.column.append(message)
            self._mark()
            self._fill()
        elif change.kind == "grew" and self.views:
            self.views[-1].grow(change.text)
        elif change.kind == "ended" and message and self.views:
            self.column.update_message(len(self.column) - 1, message)
            self.views[-1].finish(message)
            self._mark()
        elif change.kind == "branch":
            self._show_branch()
        elif change.kind == "continued":
            self._reopen()
        elif change.kind in ("chat", "phase"):
            self._mark()

    def _show_branch(self, patience: float = math.inf) -> None:
        """Other messages are shown now: what stands in view stays where it is, if it is still there."""
        assert self.conversation
        anchor, held, self._held = self._anchor(), self._held, None
        self.column.show_messages(self.conversation.messages)
        self.column.fit(self.width(), self.viewport().width())
        self._mark()
        rows = len(self.column)
        if held and held[0] < rows:
            self.following = False
            self.column.build(held[0])
            anchor = held[0], held[1] - self.column.height_of(held[0])
        self._fill((min(anchor[0], rows - 1), anchor[1]) if anchor and rows else None, patience, OPENING_ROWS)
        if held:
            self._see_whether_following()

    def hold(self, id: str) -> int | None:
        """When the branch is another one next, the lower edge of what stands in this message's row stays where it is,
        and the buttons below it under the pointer. Gives back the row."""
        row = self.column.row_of(id)
        self._held = None if row is None else (row, self.column.top(row + 1) - self._top())
        return row

    def _reopen(self) -> None:
        """The last answer goes on: its view becomes one that is written to."""
        assert self.conversation
        messages = self.conversation.messages
        self.column.show_messages(messages[:-1])
        self.column.append(messages[-1])
        self.following = True
        self._mark()
        self._fill()

    def _make(self, message: ChatMessage, ahead: bool) -> MessageView:
        conversation = self.conversation
        assert conversation
        under_way = conversation.busy and message.role == "assistant" and message.id == conversation.messages[-1].id
        view = MessageView(message, self.column, under_way, ahead)
        if under_way:
            view.grow(conversation.answer_text[len(message.content) :])
        id = message.id
        view.link.connect(self.link)
        view.chosen.connect(self.chosen)
        view.asked.connect(lambda name: self.asked.emit(id, name))
        view.sent.connect(lambda text: self.sent.emit(id, text))
        view.edited.connect(lambda text: self.edited.emit(id, text))
        view.left.connect(lambda text: self.left.emit(id, text))
        view.menu.connect(lambda point: self.menu.emit(id, point))
        view.moved.connect(lambda by: self._move_focus(id, by))
        self._place(view)
        if isinstance(view.body, AnswerView):
            view.body.unfold([number for answer, number in conversation.unfolded if answer == id])
            view.body.unfolded.connect(lambda number, opened: _note(conversation.unfolded, (id, number), opened))
        if id in conversation.edits:
            view.edit(conversation.edits[id])
        return view

    def _mark(self) -> None:
        for view in self.views:
            self._place(view)

    def _place(self, view: MessageView) -> None:
        """Tell the view where its message stands among the others."""
        conversation, id = self.conversation, view.message.id
        if conversation is None or id not in conversation.tree or not conversation.messages:
            return
        siblings = conversation.tree.siblings(id)
        last = conversation.messages[-1].id == id
        at = siblings.index(id) + 1 if id in siblings else 1
        beginning = conversation.tree.deleted_below(None) if conversation.tree.begins(id) else []
        deleted = bool(conversation.tree.deleted_below(id) or beginning)
        place = Place(last, at, len(siblings), conversation.busy, deleted=deleted)
        view.set_place(place, conversation.remedies if last else ())

    # --- scrolling --------------------------------------------------------------------------------------------------

    def _anchor(self) -> Anchor | None:
        """The uppermost row in view that has all of its height, and where it is: it must not jump."""
        if not len(self.column):
            return None
        top = self.verticalScrollBar().value()
        first = row = self.column.row_at(top)
        last = self.column.row_at(top + self.viewport().height())
        while row <= last:
            if self.column.is_whole(row):
                return row, self.column.top(row) - top
            row += 1
        return first, self.column.top(first) - top

    def _fill(self, anchor: Anchor | None = None, patience: float = math.inf, least: int = 0) -> None:
        """See that all that is in view is there, at its right height, and that nothing in view jumps meanwhile. What
        is not there after `patience` seconds, and `least` messages, comes in the next turns of the event loop."""
        if self._moving:
            return
        self._moving = True
        until = time.perf_counter() + patience
        try:
            anchor = anchor or self._anchor()
            self._settle(anchor)
            while (least > 0 or time.perf_counter() < until) and (rows := self._rows_in_view()):
                self.column.build(rows[-1 if self.following else 0], ahead=patience < math.inf and least <= 0)
                least -= 1
                self._settle(anchor)
        finally:
            self._moving = False
        self._down.setVisible(not self.following)
        slices().add(self, self._build_ahead)

    def _rows_in_view(self) -> list[int]:
        """Those that are not there yet."""
        return self.column.needed(self._top(), self._top() + self.viewport().height())

    def _settle(self, anchor: Anchor | None) -> None:
        """Place the views, then scroll to the end or to where the anchor was."""
        self.column.place()
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, self.column.height() - self.viewport().height()))
        if self.following:
            bar.setValue(bar.maximum())
        elif anchor is not None:
            bar.setValue(self.column.top(anchor[0]) - anchor[1])
        self._value = bar.value()

    def _top(self) -> int:
        return self.verticalScrollBar().value()

    def _build_ahead(self) -> bool:
        """Make what is next in the direction of scrolling, or let go of what is far; is there more to do?"""
        page, top = self.viewport().height(), self._top()
        ahead = int(page * AHEAD_PAGES)
        below = self.column.needed(top, top + page + ahead)
        above = self.column.needed(top - ahead, top)[::-1]
        seen = self._rows_in_view()
        wanted = (seen[::-1] if self.following else seen) + (below + above if self._forward else above + below)
        if not wanted:
            kept = int(page * KEPT_PAGES)
            return self.column.let_go(top - kept, top + page + kept)
        anchor = self._anchor()
        self._moving = True
        self.column.build(wanted[0], ahead=True)
        self._settle(anchor)
        self._moving = False
        return True

    def _resized(self, id: str) -> None:
        """A view has another height now; while views are being built that is about to be measured anyway."""
        if not self._moving:
            anchor = self._anchor()
            self.column.measure(id)
            self._fill(anchor, PATIENCE_SECONDS)

    def _scrolled(self, value: int) -> None:
        self._forward, self._value = value >= self._value, value
        if not self._moving:
            self._see_whether_following()
            self._fill(patience=PATIENCE_SECONDS)

    def _see_whether_following(self) -> None:
        bar = self.verticalScrollBar()
        self.following = bar.value() >= bar.maximum() - SIZES.gap_l
        self._down.setVisible(not self.following)

    def _relayout(self) -> None:
        anchor = self._anchor()
        self.column.fit(self.width(), self.viewport().width())
        self._fill(anchor)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._down.move((self.width() - SIZES.control) // 2, self.height() - SIZES.control - SIZES.gap_m)
        self._relayout()

    # --- keyboard ---------------------------------------------------------------------------------------------------

    def focusNextPrevChild(self, next: bool) -> bool:
        focused = QApplication.focusWidget()
        if focused is not None and not focused.isVisible():  # it goes, and Qt asks for another one
            holder = self._holder(focused)
            (holder if holder is not None and holder.isVisible() else self).setFocus()
            return True
        if not step_inside(self, self.views, next):
            return super().focusNextPrevChild(next)
        self._reveal(self._holder(QApplication.focusWidget()))
        return True

    def _focus_moved(self, old: QWidget | None, new: QWidget | None) -> None:
        for view in {self._holder(old), self._holder(new)} - {None}:
            assert view
            view.focus_changed()

    def _holder(self, widget: QWidget | None) -> MessageView | None:
        """The message that the widget is, or is in."""
        try:
            while widget is not None and not isinstance(widget, MessageView):
                widget = widget.parentWidget()
        except RuntimeError:  # it is being deleted
            return None
        return widget if widget in self.views else None

    def _reveal(self, view: MessageView | None) -> None:
        """The message that got the focus comes into view, its beginning if it is too high for it."""
        row = self.column.row_of(view.message.id) if view is not None else None
        if row is None:
            return
        top, page = self.column.top(row) - self._top(), self.viewport().height()
        height = self.column.height_of(row)
        if top + height <= 0 or top >= page or (height <= page and (top < 0 or top + height > page)):
            place = SIZES.gap if top < 0 or height > page else page - height - SIZES.gap
            self.following = False
            self._fill((row, place))
            self._see_whether_following()

    def _move_focus(self, id: str, by: int) -> None:
        row = self.column.row_of(id)
        if row is not None and 0 <= row + by < len(self.column):
            view = self.column.build(row + by)
            view.setFocus()
            self._reveal(view)

    def _shortcut(self, keys: str, name: str) -> None:
        shortcut = QShortcut(QKeySequence(keys), self)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        shortcut.activated.connect(lambda: self._ask_focused(name))

    def _ask_focused(self, name: str) -> None:
        view = self._holder(QApplication.focusWidget())
        if view is not None:
            self.asked.emit(view.message.id, name)


def _note(opened: set[tuple[str, int]], thought: tuple[str, int], is_open: bool) -> None:
    (opened.add if is_open else opened.discard)(thought)
