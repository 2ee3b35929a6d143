"""The conversation's messages: what it says of them shows at once, and keys go from one to the next."""

from __future__ import annotations

import math
from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.commands.commands import meant
from app.look.tab_stops import step_inside
from app.look.theme import SIZES
from app.state.conversation import Conversation
from app.store.chat import ChatMessage
from app.transcript.answer_view import AnswerView
from app.transcript.message_actions import Place
from app.transcript.message_view import MessageView
from app.transcript.scrolling_column import Anchor, ScrollingColumn

OPENING_SECONDS, OPENING_ROWS = 0.003, 6  # of the turn that opens a chat: so many of the last messages at least


class Transcript(ScrollingColumn):
    """Shows one conversation. `asked`: a message's id, what is to be done with it and what else there is to say of
    that, as MessageView's."""

    asked = Signal(str, str, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("transcript")
        self.conversation: Conversation | None = None
        self._held: Anchor | None = None
        self._written: MessageView | None = None  # the view of the answer that is being written
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._focus_moved)
        self.apply_look()

    def show_conversation(self, conversation: Conversation) -> None:
        if self.conversation is not None:
            self._write_to(None)
            self._disconnect(self.conversation)
        self.conversation = conversation
        self._connect(conversation)
        self.column.show_messages([])
        self.following = True
        self._show_branch(OPENING_SECONDS)

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
    def place(self) -> str:
        """The id of the message at the upper edge of the view; "" at the chat's end, where it comes up anyway."""
        if self.following or self.conversation is None or not len(self.column):
            return ""
        return self.conversation.messages[self.column.row_at(self.view_top() + SIZES.gap_xl)].id

    def focus_message(self, id: str) -> None:
        """Give a message that is (about to be) in view the focus; nothing scrolls."""
        row = self.column.row_of(id)
        if row is not None:
            self.column.build(row).setFocus()

    def view_of(self, id: str) -> MessageView | None:
        row = self.column.row_of(id)
        return None if row is None else self.column.view(row)

    # --- what the conversation says ---------------------------------------------------------------------------------

    def _connect(self, conversation: Conversation) -> None:
        conversation.message_added.connect(self._add)
        conversation.answer_resumed.connect(self._reopen)
        conversation.answer_ended.connect(self._end)
        conversation.branch_changed.connect(self._show_other)
        for event in (conversation.phase_changed, conversation.context_changed):
            event.connect(self._mark)

    def _disconnect(self, conversation: Conversation) -> None:
        conversation.message_added.disconnect(self._add)
        conversation.answer_resumed.disconnect(self._reopen)
        conversation.answer_ended.disconnect(self._end)
        conversation.branch_changed.disconnect(self._show_other)
        for event in (conversation.phase_changed, conversation.context_changed):
            event.disconnect(self._mark)

    def _add(self, _conversation: Conversation, message: ChatMessage) -> None:
        if message.role == "user":
            self.following = True
        self.column.append(message)
        self._mark()
        self.fill()

    def _write_to(self, view: MessageView | None) -> None:
        """New text of the answer goes straight into this view, which is the only one that shows it."""
        assert self.conversation
        if self._written is not None:
            self.conversation.text_appended.disconnect(self._written.grow)
        self._written = view
        if view is not None:
            self.conversation.text_appended.connect(view.grow)

    def _end(self, _conversation: Conversation, answer: ChatMessage) -> None:
        self._write_to(None)
        last = self.column.last
        if last:
            self.column.update_message(len(self.column) - 1, answer)
            last.finish(answer)
            self._mark()

    def _show_other(self, _conversation: Conversation) -> None:
        self._show_branch()

    def _show_branch(self, patience: float = math.inf) -> None:
        """Other messages are shown now: what stands in view stays where it is, if it is still there."""
        assert self.conversation
        anchor, held, self._held = self.anchor(), self._held, None
        self.column.show_messages(self.conversation.messages)
        self.column.fit(self.width(), self.viewport().width())
        self._mark()
        rows = len(self.column)
        if held and held[0] < rows:
            self.following = False
            self.column.build(held[0])
            anchor = held[0], held[1] - self.column.height_of(held[0])
        self.fill((min(anchor[0], rows - 1), anchor[1]) if anchor and rows else None, patience, OPENING_ROWS)
        if held:
            self.see_whether_following()

    def hold(self, id: str) -> int | None:
        """When the branch is another one next, the lower edge of what stands in this message's row stays where it is,
        and the buttons below it under the pointer. Gives back the row."""
        row = self.column.row_of(id)
        self._held = None if row is None else (row, self.column.top(row + 1) - self.view_top())
        return row

    def _reopen(self, _conversation: Conversation) -> None:
        """The last answer goes on: its view becomes one that is written to."""
        assert self.conversation
        messages = self.conversation.messages
        self.column.show_messages(messages[:-1])
        self.column.append(messages[-1])
        self.following = True
        self._mark()
        self.fill()

    def make(self, message: ChatMessage, ahead: bool) -> MessageView:
        conversation = self.conversation
        assert conversation
        under_way = conversation.busy and message.role == "assistant" and message.id == conversation.messages[-1].id
        if under_way and len(conversation.answer_text) > len(message.content):
            message = replace(message, content=conversation.answer_text)
        view = MessageView(message, self.column, under_way, ahead)
        if under_way:
            self._write_to(view)
        id = message.id
        view.asked.connect(lambda what, value: self.asked.emit(id, what, value))
        self._place(view)
        if isinstance(view.body, AnswerView):
            view.body.unfold(conversation.unfolded, id)
        if id in conversation.edits:
            view.edit(conversation.edits[id])
        return view

    def _mark(self, _conversation: Conversation | None = None) -> None:
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
        top, page = self.column.top(row) - self.view_top(), self.viewport().height()
        height = self.column.height_of(row)
        if top + height <= 0 or top >= page or (height <= page and (top < 0 or top + height > page)):
            place = SIZES.gap if top < 0 or height > page else page - height - SIZES.gap
            self.following = False
            self.fill((row, place))
            self.see_whether_following()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """What a message with the focus has no use for: Up and Down go to the next one."""
        focused = QApplication.focusWidget()
        name = meant(event, "message") if isinstance(focused, MessageView) else ""
        if isinstance(focused, MessageView) and name in ("up", "down"):
            self._move_focus(focused, -1 if name == "up" else 1)
        else:
            super().keyPressEvent(event)

    def _move_focus(self, focused: MessageView, by: int) -> None:
        row = self.column.row_of(focused.message.id)
        if row is not None and 0 <= row + by < len(self.column):
            view = self.column.build(row + by)
            view.setFocus()
            self._reveal(view)
