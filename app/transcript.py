"""The conversation's messages in one centred column. Builds them from the end, the earlier ones as one scrolls up."""

from __future__ import annotations

import time

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QPushButton, QScrollArea, QWidget

from app.chat import ChatMessage
from app.conversation import Change, Conversation
from app.icons import icon
from app.message_view import MessageView
from app.theme import SIZES, theme

SLICE_SECONDS = 0.008
FIRST_MESSAGES = 3


class Column(QWidget):
    """Stacks the message views; only a view that says so is measured again."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("column")
        self.views: list[MessageView] = []
        self._heights: dict[MessageView, int] = {}
        self._width = 0

    def arrange(self, width: int, page: int, changed: MessageView | None = None) -> None:
        """Give every view its place in a column of at most SIZES.column pixels, centred in the `page`.

        `width` is the page's without the scroll bar: with or without one, the column stays above the composer."""
        column = min(SIZES.column, page - 2 * SIZES.gap_xl)
        left = (page - column) // 2
        if column != self._width:
            self._width = column
            self._heights.clear()
        elif changed is not None:
            self._heights.pop(changed, None)
        top = SIZES.gap_xl
        for view in self.views:
            height = self._heights.get(view)
            if height is None:
                height = self._heights[view] = view.heightForWidth(column)
            view.setGeometry(left, top, column, height)
            top += height + SIZES.gap
        self.resize(width, top + SIZES.gap_l)

    def forget(self, view: MessageView) -> None:
        self.views.remove(view)
        self._heights.pop(view, None)
        view.hide()
        view.deleteLater()


class Transcript(QScrollArea):
    """Shows one conversation. `link` carries a clicked address, `chosen` a remedy, `again` asks for another answer."""

    link = Signal(str)
    chosen = Signal(object)
    again = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("transcript")
        self.setAccessibleName("Messages")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.column = Column()
        self.setWidget(self.column)
        self.conversation: Conversation | None = None
        self.following = True
        self._earlier: list[ChatMessage] = []
        self._moving = False
        self._down = QPushButton(self)
        self._down.setObjectName("down")
        self._down.setAccessibleName("To the end")
        self._down.setToolTip("To the end")
        self._down.setFixedSize(SIZES.control, SIZES.control)
        self._down.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self._down.clicked.connect(self.to_end)
        self._down.hide()
        self._builder = QTimer(self)
        self._builder.setSingleShot(True)
        self._builder.timeout.connect(self._build_earlier)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        self.restyle()

    @property
    def views(self) -> list[MessageView]:
        return self.column.views

    def show_conversation(self, conversation: Conversation) -> None:
        if self.conversation is not None:
            self.conversation.listeners.remove(self._changed)
        self.conversation = conversation
        conversation.listeners.append(self._changed)
        self._rebuild()

    def to_end(self) -> None:
        self.following = True
        self._stick()
        self._down.hide()

    def restyle(self) -> None:
        self._down.setIcon(icon("down", theme().ink))
        for view in self.views:
            view.restyle()

    # --- what the conversation says ---------------------------------------------------------------------------------

    def _changed(self, change: Change) -> None:
        if change.kind == "added" and change.message:
            self._add(change.message, at_end=True, streaming=change.message.role == "assistant")
            self._mark_last()
            if change.message.role == "user":
                self.following = True
            self._arrange(self.views[-1])
        elif change.kind == "grew" and self.views:
            self.views[-1].grow(change.text)
        elif change.kind == "ended" and change.message and self.views:
            self.views[-1].finish(change.message)
            self._mark_last()
        elif change.kind in ("branch", "continued"):
            self._rebuild()
        elif change.kind == "chat" and self.views:
            self._mark_last()

    def _rebuild(self) -> None:
        assert self.conversation
        for view in tuple(self.views):
            self.column.forget(view)
        messages = list(self.conversation.messages)
        self._earlier, last = messages[:-FIRST_MESSAGES], messages[-FIRST_MESSAGES:]
        for message in last:
            under_way = message is messages[-1] and message.role == "assistant" and self.conversation.busy
            if under_way:
                message = self.conversation.messages[-1]
            self._add(message, at_end=True, streaming=under_way)
            if under_way:
                self.views[-1].grow(self.conversation.answer_text[len(message.content) :])
        self._mark_last()
        self.following = True
        self._arrange()
        if self._earlier:
            self._builder.start(0)

    def _add(self, message: ChatMessage, at_end: bool, streaming: bool = False) -> MessageView:
        view = MessageView(message, self.column, streaming)
        view.resized.connect(lambda: self._arrange(view))
        view.again.connect(self.again)
        view.link.connect(self.link)
        view.chosen.connect(self.chosen)
        if at_end:
            self.views.append(view)
        else:
            self.views.insert(0, view)
        view.show()
        return view

    def _mark_last(self) -> None:
        remedies = self.conversation.remedies if self.conversation else ()
        for view in self.views[-3:]:
            last = view is self.views[-1]
            view.set_last(last, remedies if last else ())

    def _build_earlier(self) -> None:
        """Some more of the earlier messages, while they are wanted: until three pages lie above the view."""
        until = time.perf_counter() + SLICE_SECONDS
        bar = self.verticalScrollBar()
        old = bar.value() - bar.maximum()
        while self._earlier and time.perf_counter() < until:
            self._add(self._earlier.pop(), at_end=False)
        self._moving = True
        self.column.arrange(self.viewport().width(), self.width())
        bar.setValue(bar.maximum() + old)
        self._moving = False
        self._build_more()

    def _build_more(self) -> None:
        if self._earlier and self.verticalScrollBar().value() < 3 * self.viewport().height():
            self._builder.start(0)

    # --- scrolling --------------------------------------------------------------------------------------------------

    def _arrange(self, changed: MessageView | None = None) -> None:
        self._moving = True
        self.column.arrange(self.viewport().width(), self.width(), changed)
        self._moving = False
        self._stick()

    def _stick(self) -> None:
        if self.following:
            self._moving = True
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())
            self._moving = False
        self._down.setVisible(not self.following)

    def _scrolled(self) -> None:
        if not self._moving:
            bar = self.verticalScrollBar()
            self.following = bar.value() >= bar.maximum() - SIZES.gap_l
            self._down.setVisible(not self.following)
        self._build_more()

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._down.move((self.width() - SIZES.control) // 2, self.height() - SIZES.control - SIZES.gap_m)
        self._arrange()
