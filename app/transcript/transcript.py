"""Shows the conversation's messages: changes appear at once, and keys move the focus from message to message."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.commands.commands import focus_action
from app.composer.prompt_editor import BEYOND
from app.events import Event
from app.look.tab_stops import step_inside
from app.look.theme import SIZES
from app.state.conversation import Conversation
from app.store.chat import ChatMessage
from app.transcript.answer_view import AnswerView
from app.transcript.message_actions import MessagePosition
from app.transcript.message_view import MessageView
from app.transcript.scrolling_column import Anchor, ScrollingColumn

KEYPAD = Qt.KeyboardModifier.KeypadModifier
OPENING_SECONDS, OPENING_ROWS = 0.003, 6  # time and least number of messages of the turn that opens a chat


class Transcript(ScrollingColumn):
    """The messages of one conversation.

    `action_requested` carries a message's id, then what MessageView's `action_requested` carries.
    """

    action_requested = Signal(str, str, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("transcript")
        self.conversation: Conversation | None = None
        self._held_edge: Anchor | None = None
        self._streaming_answer: AnswerView | None = None  # shows the answer that is being written
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._focus_moved)
        self.apply_look()

    def show_conversation(self, conversation: Conversation) -> None:
        if self.conversation is not None:
            self._stream_into(None)
            for event, listener in self._listeners(self.conversation):
                event.disconnect(listener)
        self.conversation = conversation
        for event, listener in self._listeners(conversation):
            event.connect(listener)
        self.column.show_messages([])
        self.following = True
        self._show_branch(patience=OPENING_SECONDS)

    def show_message(self, id: str) -> None:
        """Scroll to the message, on whatever branch it is, and give it the focus."""
        if self.conversation is None:
            return
        if self.column.row_of(id) is None:
            self.conversation.show(id)
        row = self.column.row_of(id)
        if row is not None:
            self.scroll_to(row)
            self.column.build(row).setFocus()

    @property
    def top_message_id(self) -> str:
        """The id of the message at the upper edge of the view; "" at the chat's end, where every chat opens anyway."""
        if self.following or self.conversation is None or not len(self.column):
            return ""
        return self.conversation.messages[self.column.row_at(self.view_top() + SIZES.gap_xl)].id

    def focus_message(self, id: str) -> None:
        """Give the focus to a message that is in view or about to be, without scrolling."""
        row = self.column.row_of(id)
        if row is not None:
            self.column.build(row).setFocus()

    def view_of(self, id: str) -> MessageView | None:
        row = self.column.row_of(id)
        return None if row is None else self.column.view(row)

    # --- the conversation's events ----------------------------------------------------------------------------------

    def _listeners(self, conversation: Conversation) -> Sequence[tuple[Event[*tuple[Any, ...]], Callable[..., None]]]:
        return (
            (conversation.message_added, self._add_message),
            (conversation.answer_resumed, self._resume_answer),
            (conversation.answer_ended, self._end_answer),
            (conversation.calls_made, self._end_answer),
            (conversation.message_changed, self._change_message),
            (conversation.branch_changed, self._show_branch),
            (conversation.phase_changed, self._update_positions),
            (conversation.context_changed, self._update_positions),
        )

    def _add_message(self, _conversation: Conversation, message: ChatMessage) -> None:
        if message.role == "user":
            self.following = True
        self.column.append(message)
        self._update_positions()
        self.fill()

    def _stream_into(self, view: MessageView | None) -> None:
        """Connect the answer's new text directly to the part of this view that shows it; None disconnects."""
        assert self.conversation
        if self._streaming_answer is not None:
            self.conversation.text_appended.disconnect(self._streaming_answer.grow)
            self.conversation.thoughts_counted.disconnect(self._streaming_answer.set_tokens)
        self._streaming_answer = view.body if view is not None and isinstance(view.body, AnswerView) else None
        if self._streaming_answer is not None:
            self.conversation.text_appended.connect(self._streaming_answer.grow)
            self.conversation.thoughts_counted.connect(self._streaming_answer.set_tokens)

    def _end_answer(self, conversation: Conversation, answer: ChatMessage) -> None:
        self._stream_into(None)
        self._change_message(conversation, answer)

    def _change_message(self, _conversation: Conversation, message: ChatMessage) -> None:
        """Show the new state of a message."""
        row = self.column.row_of(message.id)
        if row is not None:
            self.column.update_message(row, message)
            if view := self.column.view(row):
                view.finish(message)
                self._update_positions()

    def _show_branch(self, _conversation: Conversation | None = None, patience: float = math.inf) -> None:
        """Show the conversation's present messages; rows in view keep their positions if they are still shown."""
        assert self.conversation
        anchor, edge, self._held_edge = self.anchor(), self._held_edge, None
        self.column.show_messages(self.conversation.messages)
        self.column.fit(self.width(), self.viewport().width())
        self._update_positions()
        rows = len(self.column)
        if edge and edge[0] < rows:
            self.following = False
            self.column.build(edge[0])
            anchor = edge[0], edge[1] - self.column.height_of(edge[0])
        self.fill((min(anchor[0], rows - 1), anchor[1]) if anchor and rows else None, patience, OPENING_ROWS)
        if edge:
            self.update_following()

    def hold_lower_edge(self, id: str) -> int | None:
        """Keep the lower edge of this message's row in place at the next change of branch; return the row.

        The buttons below the message thereby stay under the pointer.
        """
        row = self.column.row_of(id)
        self._held_edge = None if row is None else (row, self.column.top(row + 1) - self.view_top())
        return row

    def _resume_answer(self, _conversation: Conversation) -> None:
        """Replace the last answer's view by one that can be streamed into, because the answer goes on."""
        assert self.conversation
        messages = self.conversation.messages
        self.column.show_messages(messages[:-1])
        self.column.append(messages[-1])
        self.following = True
        self._update_positions()
        self.fill()

    def make(self, message: ChatMessage, ahead: bool) -> MessageView:
        conversation = self.conversation
        assert conversation
        under_way = conversation.busy and message.role == "assistant" and message.id == conversation.messages[-1].id
        if under_way and len(conversation.answer_text) > len(message.content):
            message = replace(message, content=conversation.answer_text)
        view = MessageView(message, self.column, under_way, ahead)
        if under_way:
            self._stream_into(view)
        id = message.id
        view.action_requested.connect(lambda what, value: self.action_requested.emit(id, what, value))
        self._update_position(view)
        if isinstance(view.body, AnswerView):
            view.body.unfold(conversation.unfolded, id)
        if id in conversation.edits:
            view.edit(conversation.edits[id])
        return view

    def _update_positions(self, _conversation: Conversation | None = None) -> None:
        for view in self.views:
            self._update_position(view)

    def _update_position(self, view: MessageView) -> None:
        """Set the view's position among its siblings and in the branch."""
        conversation, id = self.conversation, view.message.id
        if conversation is None or id not in conversation.tree or not conversation.messages:
            return
        siblings = conversation.tree.siblings(id)
        last = conversation.messages[-1].id == id
        at = siblings.index(id) + 1 if id in siblings else 1
        beginning = conversation.tree.deleted_below(None) if conversation.tree.begins(id) else []
        deleted = bool(conversation.tree.deleted_below(id) or beginning)
        place = MessagePosition(last, at, len(siblings), conversation.busy, has_deleted=deleted)
        view.set_position(place, conversation.remedies if last else ())

    # --- keyboard ---------------------------------------------------------------------------------------------------

    def focusNextPrevChild(self, next: bool) -> bool:
        focused = QApplication.focusWidget()
        if focused is not None and not focused.isVisible():  # being hidden, so Qt looks for another widget to focus
            holder = self._message_view_of(focused)
            (holder if holder is not None and holder.isVisible() else self).setFocus()
            return True
        if not step_inside(self, self.views, next):
            return super().focusNextPrevChild(next)
        self._reveal(self._message_view_of(QApplication.focusWidget()))
        return True

    def _focus_moved(self, old: QWidget | None, new: QWidget | None) -> None:
        for view in {self._message_view_of(old), self._message_view_of(new)} - {None}:
            assert view
            view.focus_changed()

    def _message_view_of(self, widget: QWidget | None) -> MessageView | None:
        """Return the message view that is the widget or contains it, or None."""
        try:
            while widget is not None and not isinstance(widget, MessageView):
                widget = widget.parentWidget()
        except RuntimeError:  # it is being deleted
            return None
        return widget if widget in self.views else None

    def _reveal(self, view: MessageView | None) -> None:
        """Scroll to the message that got the focus; to its beginning if it is higher than the view."""
        row = self.column.row_of(view.message.id) if view is not None else None
        if row is None:
            return
        top, page = self.column.top(row) - self.view_top(), self.viewport().height()
        height = self.column.height_of(row)
        if top + height <= 0 or top >= page or (height <= page and (top < 0 or top + height > page)):
            place = SIZES.gap if top < 0 or height > page else page - height - SIZES.gap
            self.scroll_row_to(row, place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the focus with Up and Down to the previous or next message; scroll with Page Up, Home and so on."""
        focused = QApplication.focusWidget()
        name = focus_action(event, "message") if isinstance(focused, MessageView) else ""
        if isinstance(focused, MessageView) and name in ("up", "down"):
            self._move_focus(focused, -1 if name == "up" else 1)
        elif event.key() in BEYOND and event.key() != Qt.Key.Key_Up and not event.modifiers() & ~KEYPAD:
            self.page(BEYOND[Qt.Key(event.key())])
        else:
            super().keyPressEvent(event)

    def _move_focus(self, focused: MessageView, by: int) -> None:
        row = self.column.row_of(focused.message.id)
        while row is not None and 0 <= (row := row + by) < len(self.column):
            view = self.column.build(row)
            if view.focusPolicy() != Qt.FocusPolicy.NoFocus:
                view.setFocus()
                self._reveal(view)
                return
