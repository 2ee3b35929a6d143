"""Shows a call of a tool as one line, which unfolds to its arguments and its result: a stranger's text, as it is."""

from __future__ import annotations

import json

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.markdown.block_stack import BlockStack
from app.store.calls import Call, calls_of, shown_text
from app.store.chat import ChatMessage
from app.transcript.answer_view import AnswerView, ThoughtView
from app.words import mark, tr, worded
from common.reasoning import Section, Sections
from common.units import exact_seconds

EMPTY = {"query": "", "name": "", "expression": "", "address": ""}
LONGEST = 60  # characters of an argument or a summary in the line
BETWEEN, ELIDED = " · ", Qt.TextElideMode.ElideRight
# What the built-in tools did. Those of servers have a source's title, which stands before their own.
DONE = {
    "search_documents": mark("Searched the collections for “{query}”"),
    "read_file": mark("Read “{name}”"),
    "search_chats": mark("Searched your other chats for “{query}”"),
    "calculate": mark("Calculated {expression}"),
    "date_and_time": mark("Looked at the clock"),
    "read_web_page": mark("Read {address}"),
    "search_web": mark("Searched the web for “{query}”"),
}


def call_line(message: ChatMessage, busy: bool) -> tuple[str, str]:
    """Return the line about a call: what was done with which words; then what came, and how long it took."""
    call = next(iter(calls_of(message)), Call("", "?", ""))
    parts = list[str]()
    if message.stop_reason is None:
        parts.append(tr("under way…") if busy else tr("interrupted"))
    elif message.stop_reason == "cancelled":
        parts.append(tr("stopped"))
    elif call.failed:
        parts.append(tr("no result"))
    parts.append(_short(call.summary))
    if call.cut:
        parts.append(tr("cut to what fits"))
    if call.seconds is not None:
        parts.append(worded(exact_seconds(call.seconds)))
    return _done(call), " · ".join(filter(None, parts))


def _done(call: Call) -> str:
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        arguments = {}
    values = arguments.items() if isinstance(arguments, dict) else ()
    words = {name: _short(value if isinstance(value, str) else json.dumps(value)) for name, value in values}
    if call.title and not call.source_title and call.name in DONE:
        return tr(DONE[call.name], **EMPTY | words)
    tool = ": ".join(filter(None, (call.source_title, call.title or call.name)))
    return " ".join(filter(None, (tool, _short(", ".join(words.values())))))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


class CallView(AnswerView):
    """View of a call: one folded part with the arguments and the result."""

    def __init__(self, message: ChatMessage, parent: QWidget) -> None:
        self._message, self._busy = message, False
        super().__init__(parent)

    @property
    def line_text(self) -> str:
        """The whole line, of which the button shows as much as has room."""
        return BETWEEN.join(filter(None, self.line_parts))

    @property
    def line_parts(self) -> tuple[str, str]:
        """Words for what was done, and for what came of it."""
        return call_line(self._message, self._busy)

    def show_call(self, message: ChatMessage, busy: bool) -> None:
        """Show the call's state; `busy`: whether its chat is at work."""
        self._message, self._busy = message, busy
        text = shown_text(message)
        if self.thoughts and text == self.text:
            self.thoughts[0].retranslate()
            return
        was_open = bool(self.thoughts) and self.thoughts[0].open
        self._show_sections(text, Sections([Section(True, text, True)]), None, streaming=False)
        self.unfold(*self._unfolded)
        if was_open:
            self.thoughts[0].line.setChecked(True)

    def _make_thought(self) -> ThoughtView:
        return CallLine(self)


class CallLine(ThoughtView):
    """Line of a call, which unfolds to plain text: nothing in it is a link or markup."""

    def __init__(self, parent: CallView) -> None:
        self._call = parent
        super().__init__(parent)

    def _fill(self, body: BlockStack, ahead: bool = False) -> None:
        body.set_plain(self.text, ahead)

    def _update_line(self) -> None:
        text = self._call.line_text
        room = max(0, self.width() - 2 * self.line.iconSize().width() - self.line.fontMetrics().averageCharWidth() * 4)
        shown = self._shortened(room) if self.width() else text
        self.line.setText(shown.replace("&", "&&"))
        self.line.setAccessibleName(text)
        self.line.setToolTip(tr("Hide arguments and result") if self.open else tr("Show arguments and result"))
        self.line.setAccessibleDescription(self.line.toolTip())
        self._resize_line()

    def _shortened(self, room: int) -> str:
        """Return the line in `room` pixels: the words of the call give way first, what came of it is kept."""
        metrics, (done, came) = self.line.fontMetrics(), self._call.line_parts
        tail = BETWEEN + came if came else ""
        words = metrics.elidedText(done, ELIDED, max(room - metrics.horizontalAdvance(tail), room // 3))
        return metrics.elidedText(words + tail, ELIDED, room)

    def resizeEvent(self, event: object) -> None:
        self._update_line()
        super().resizeEvent(event)
